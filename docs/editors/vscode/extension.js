// Starts `cdpc lsp` and connects the editor with it.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = async () => {
  const command = workspace.getConfiguration("cdp").get("compiler") || "cdpc";
  const server = { command, args: ["lsp", "--stdio"] };
  client = new LanguageClient("cdp", "cdp", server, { documentSelector: [{ language: "cdp" }] });
  await client.start();
};

exports.deactivate = () => client && client.stop();
