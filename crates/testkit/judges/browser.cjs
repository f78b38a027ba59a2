// A browser as an outside judge: Chromium opens the page of docs/browser.md on another port than the hub's, signs in,
// watches a team, and answers a member's question.
//
//   node browser.cjs PAGE FOREIGN_PAGE HUB TOKEN
//
// FOREIGN_PAGE is the same page on a port that the hub does not list. With JACKFIELD_SCREENSHOT, a picture of the page is
// written there.

const { chromium } = require("playwright-core");

const [page_url, foreign_url, hub, token] = process.argv.slice(2);
const SOON = 20_000;
const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

function check(is_so, what) {
  if (!is_so) throw new Error(what);
}

async function sign_in(page, url, shown_token) {
  await page.goto(url);
  await page.fill("#hub", hub);
  await page.fill("#token", shown_token);
  await page.click("text=Watch");
}

const shows = (page, text) => page.waitForSelector(`text=${text}`, { timeout: SOON });

// Opens a WebSocket with a ticket in the address; returns its first frame.
const open_by_query = ([hub, query]) =>
  new Promise((resolve, reject) => {
    const socket = new WebSocket(`${hub.replace(/^http/, "ws")}/ws/agent-team/research?${query}`);
    socket.onmessage = (message) => resolve(JSON.parse(message.data));
    socket.onclose = (close) => reject(new Error(`closed with ${close.code}`));
  });

const make_ticket = async ([hub, token]) => {
  const headers = { Authorization: `Bearer ${token}` };
  const response = await fetch(`${hub}/v1/tickets`, { method: "POST", headers });
  return response.json();
};

async function main() {
  // An empty path is an empty, temporary folder.
  const browser = await chromium.launchPersistentContext("", {
    executablePath: "/usr/bin/chromium",
    args: FLAGS,
    timeout: SOON,
  });
  try {
    const page = await browser.newPage();

    await sign_in(page, page_url, "jf_guess");
    await shows(page, "error: this hub does not know the token");

    await sign_in(page, page_url, token);
    await shows(page, "watching research");
    await page.fill("#text", "delete the notes");
    await page.click("text=Send");
    await shows(page, "web asks: really?");
    await page.click("text=Approve");
    await shows(page, "web: approved: true");
    await page.fill("#text", "plan the party");
    await page.click("text=Send");
    await shows(page, "web asks: which year?");
    await page.fill("#events input", "2026");
    await page.click("text=Answer");
    await shows(page, "web: the year 2026");
    const picture = process.env.JACKFIELD_SCREENSHOT;
    if (picture) await page.screenshot({ path: picture });

    const ticket = await page.evaluate(make_ticket, [hub, token]);
    const first = await page.evaluate(open_by_query, [hub, ticket.query]);
    check(first.type === "CONNECTED", `by query: ${JSON.stringify(first)}`);
    const second = await page.evaluate(open_by_query, [hub, ticket.query]);
    check(second.payload.code === "UNAUTHORIZED", `a second time: ${JSON.stringify(second)}`);
    check(second.payload.message.includes("ticket"), `a second time: ${JSON.stringify(second)}`);

    const foreign = await browser.newPage();
    await sign_in(foreign, foreign_url, token);
    await shows(foreign, "error: Failed to fetch");
    const refused = await foreign.evaluate(open_by_query, [hub, "replay=false"]).catch(String);
    check(String(refused).includes("closed with 1006"), `a foreign page: ${refused}`);
    console.log(`Chromium ${browser.browser()?.version() ?? ""} signed in, watched a team, and answered its questions`);
  } finally {
    await browser.close();
  }
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
