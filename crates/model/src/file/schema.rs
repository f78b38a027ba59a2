//! The OpenAPI schema of a [`File`]: either `uri` or `bytes`, a rule that a derived schema cannot express.

use std::borrow::Cow;

use utoipa::{
    PartialSchema, ToSchema,
    openapi::{RefOr, Schema},
};

use super::File;

/// A file, either by its address or with its bytes.
#[derive(ToSchema)]
#[serde(untagged, deny_unknown_fields)]
#[allow(dead_code, reason = "only its schema is used")]
enum FileSchema {
    /// A file by its address.
    #[schema(title = "FileByUri")]
    Uri {
        /// The file's name.
        name: Option<String>,
        /// The file's media type.
        mime: Option<String>,
        /// The address of the file.
        #[schema(min_length = 1)]
        uri: String,
    },
    /// A file with its bytes.
    #[schema(title = "FileByBytes")]
    Bytes {
        /// The file's name.
        name: Option<String>,
        /// The file's media type.
        mime: Option<String>,
        /// The file's bytes in base64.
        #[schema(pattern = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$")]
        bytes: String,
    },
}

impl PartialSchema for File {
    fn schema() -> RefOr<Schema> {
        FileSchema::schema()
    }
}

impl ToSchema for File {
    fn name() -> Cow<'static, str> {
        "File".into()
    }
}
