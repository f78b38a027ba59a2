//! Protobuf codec for tonic. A message that cannot be decoded is an invalid argument; tonic's own codec
//! reports an internal error, which clients retry.

use std::marker::PhantomData;

use prost::{Message, bytes::Buf as _};
use tonic::{
    Status,
    codec::{BufferSettings, Codec, DecodeBuf, Decoder, EncodeBuf, Encoder},
};

use super::{
    bounds::{self, Bounded},
    status::status_from,
};

/// Codec that decodes requests and encodes answers.
pub(super) struct ProtobufCodec<Asked, Answer>(PhantomData<(Asked, Answer)>);

impl<Asked, Answer> Default for ProtobufCodec<Asked, Answer> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<Asked, Answer> Codec for ProtobufCodec<Asked, Answer>
where
    Asked: Message + Default + Bounded + 'static,
    Answer: Message + 'static,
{
    type Encode = Answer;
    type Decode = Asked;
    type Encoder = ProtobufEncoder<Answer>;
    type Decoder = ProtobufDecoder<Asked>;

    fn encoder(&mut self) -> ProtobufEncoder<Answer> {
        ProtobufEncoder(PhantomData)
    }

    fn decoder(&mut self) -> ProtobufDecoder<Asked> {
        ProtobufDecoder(PhantomData)
    }
}

pub(super) struct ProtobufEncoder<Answer>(PhantomData<Answer>);

impl<Answer: Message> Encoder for ProtobufEncoder<Answer> {
    type Item = Answer;
    type Error = Status;

    fn encode(&mut self, answer: Answer, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        answer
            .encode(buffer)
            .map_err(|error| Status::internal(error.to_string()))
    }

    fn buffer_settings(&self) -> BufferSettings {
        BufferSettings::default()
    }
}

pub(super) struct ProtobufDecoder<Asked>(PhantomData<Asked>);

impl<Asked: Message + Default + Bounded> Decoder for ProtobufDecoder<Asked> {
    type Item = Asked;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Asked>, Status> {
        let bytes = buffer.copy_to_bytes(buffer.remaining());
        bounds::check::<Asked>(&bytes).map_err(status_from)?;
        Asked::decode(bytes)
            .map(Some)
            .map_err(|error| Status::invalid_argument(format!("not the message expected: {error}")))
    }
}
