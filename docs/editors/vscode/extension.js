// Starts `cdpc lsp` and connects the editor with it.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = async () => {
  const settings = workspace.getConfiguration("cdp");
  const command = settings.get("compiler") || "cdpc";
  const server = { command, args: ["lsp", "--stdio", ...settings.get("options", [])] };
  client = new LanguageClient("cdp", "cdp", server, { documentSelector: [{ language: "cdp" }] });
  await client.start();
};

exports.deactivate = () => client && client.stop();
