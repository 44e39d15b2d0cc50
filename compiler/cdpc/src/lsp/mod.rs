//! The language server: the Language Server Protocol over standard input and output.
//!
//! - this file: the loop, and what a request is answered with
//! - [`document`]: the open texts, and what the compiler says of them
//! - [`facts`]: what is known of a place in a text: type, declaration
//! - [`hover`], [`complete`]: what is shown of it, and what may stand there
//!
//! Every request is answered from the text as it is, with errors in it or not. Texts that are open are taken from the editor, others from disk.

mod complete;
mod document;
mod facts;
mod hover;

use lsp_server::{Connection, ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::notification::{
    DidChangeTextDocument, DidCloseTextDocument, DidOpenTextDocument, Notification as _, PublishDiagnostics,
};
use lsp_types::request::{Completion, DocumentSymbolRequest, Formatting, GotoDefinition, HoverRequest, Request as _};
use lsp_types::{
    CompletionOptions, HoverProviderCapability, InitializeParams, OneOf, PositionEncodingKind, PublishDiagnosticsParams,
    ServerCapabilities, TextDocumentSyncCapability, TextDocumentSyncKind, Url,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::failure::{Failure, Result};
use crate::options::Meaning;
use document::Documents;

/// Serves until the editor says that it is done.
///
/// # Errors
/// When the other side does not speak the protocol, or goes away without saying so.
pub fn serve(meaning: &Meaning) -> Result<()> {
    let (connection, threads) = Connection::stdio();
    let served = session(&connection, meaning);
    // the writing thread ends when its queue is gone
    drop(connection);
    let joined = threads.join().map_err(|error| Failure::usage(format!("the connection to the editor failed: {error}")));
    served.and(joined)
}

fn session(connection: &Connection, meaning: &Meaning) -> Result<()> {
    let broken =
        |error: lsp_server::ProtocolError| Failure::usage(format!("the other side does not speak the protocol: {error}"));
    let (id, params) = connection.initialize_start().map_err(broken)?;
    let _: InitializeParams = read(params)?;
    let answer = serde_json::json!({
        "capabilities": capabilities(),
        "serverInfo": { "name": "cdpc", "version": env!("CARGO_PKG_VERSION") },
    });
    connection.initialize_finish(id, answer).map_err(broken)?;
    let mut server = Server { connection, documents: Documents::new(meaning.clone()) };
    for message in &connection.receiver {
        match message {
            Message::Request(request) => {
                if connection.handle_shutdown(&request).map_err(broken)? {
                    return Ok(());
                }
                server.answer(request)?;
            }
            Message::Notification(notification) => server.note(notification)?,
            Message::Response(_) => {}
        }
    }
    Ok(())
}

fn capabilities() -> ServerCapabilities {
    ServerCapabilities {
        position_encoding: Some(PositionEncodingKind::UTF16),
        text_document_sync: Some(TextDocumentSyncCapability::Kind(TextDocumentSyncKind::FULL)),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        definition_provider: Some(OneOf::Left(true)),
        document_symbol_provider: Some(OneOf::Left(true)),
        document_formatting_provider: Some(OneOf::Left(true)),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some(vec![".".to_owned(), ":".to_owned(), "@".to_owned()]),
            ..CompletionOptions::default()
        }),
        ..ServerCapabilities::default()
    }
}

/// The parameters of a message.
fn read<T: DeserializeOwned>(params: Value) -> Result<T> {
    serde_json::from_value(params).map_err(|error| Failure::usage(format!("a message of the editor cannot be read: {error}")))
}

struct Server<'a> {
    connection: &'a Connection,
    documents: Documents,
}

impl Server<'_> {
    fn send(&self, message: impl Into<Message>) -> Result<()> {
        self.connection.sender.send(message.into()).map_err(|_| Failure::usage("the editor went away"))
    }

    fn note(&mut self, notification: Notification) -> Result<()> {
        match notification.method.as_str() {
            DidOpenTextDocument::METHOD => {
                let Ok(params) = read::<lsp_types::DidOpenTextDocumentParams>(notification.params) else { return Ok(()) };
                self.documents.open(params.text_document.uri, params.text_document.text, params.text_document.version);
            }
            DidChangeTextDocument::METHOD => {
                let Ok(params) = read::<lsp_types::DidChangeTextDocumentParams>(notification.params) else { return Ok(()) };
                let Some(change) = params.content_changes.into_iter().next_back() else { return Ok(()) };
                self.documents.open(params.text_document.uri, change.text, params.text_document.version);
            }
            DidCloseTextDocument::METHOD => {
                let Ok(params) = read::<lsp_types::DidCloseTextDocumentParams>(notification.params) else { return Ok(()) };
                self.documents.close(&params.text_document.uri);
                self.publish(params.text_document.uri, Vec::new(), None)?;
            }
            _ => return Ok(()),
        }
        // a change may mend or break whatever imports the file
        for (uri, version) in self.documents.list() {
            if let Some(found) = self.documents.diagnostics(&uri) {
                self.publish(uri, found, Some(version))?;
            }
        }
        Ok(())
    }

    fn publish(&self, uri: Url, diagnostics: Vec<lsp_types::Diagnostic>, version: Option<i32>) -> Result<()> {
        let params = PublishDiagnosticsParams { uri, diagnostics, version };
        self.send(Notification::new(PublishDiagnostics::METHOD.to_owned(), params))
    }

    fn answer(&self, request: Request) -> Result<()> {
        let Request { id, method, params } = request;
        let response = match method.as_str() {
            HoverRequest::METHOD => self.with(id, params, |documents, params: lsp_types::HoverParams| {
                let at = params.text_document_position_params;
                hover::hover(&documents.analysis(&at.text_document.uri)?, at.position)
            }),
            GotoDefinition::METHOD => self.with(id, params, |documents, params: lsp_types::GotoDefinitionParams| {
                let at = params.text_document_position_params;
                let analysis = documents.analysis(&at.text_document.uri)?;
                let offset = analysis.offset(at.position)?;
                analysis.location(facts::definition(&analysis, offset)?)
            }),
            Completion::METHOD => self.with(id, params, |documents, params: lsp_types::CompletionParams| {
                let at = params.text_document_position;
                Some(complete::complete(&documents.analysis(&at.text_document.uri)?, at.position))
            }),
            DocumentSymbolRequest::METHOD => self.with(id, params, |documents, params: lsp_types::DocumentSymbolParams| {
                Some(documents.analysis(&params.text_document.uri)?.symbols())
            }),
            Formatting::METHOD => self.with(id, params, |documents, params: lsp_types::DocumentFormattingParams| {
                documents.analysis(&params.text_document.uri)?.formatted()
            }),
            _ => Response::new_err(id, ErrorCode::MethodNotFound as i32, format!("`{method}` is not offered")),
        };
        self.send(response)
    }

    /// Nothing to say is `null`, which every request allows.
    fn with<P: DeserializeOwned, R: serde::Serialize>(
        &self,
        id: RequestId,
        params: Value,
        answer: impl FnOnce(&Documents, P) -> Option<R>,
    ) -> Response {
        match serde_json::from_value(params) {
            Ok(params) => Response::new_ok(id, answer(&self.documents, params)),
            Err(error) => Response::new_err(id, ErrorCode::InvalidParams as i32, error.to_string()),
        }
    }
}
