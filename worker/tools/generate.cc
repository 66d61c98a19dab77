// Prints text that an exported model of byte tokens generates.

#include <CLI/CLI.hpp>
#include <iostream>
#include <string>

#include "common/base/version.h"
#include "worker/tools/text_generator.h"

int main(int argc, char** argv) {
  CLI::App app("Generates text with an exported model of byte tokens.", "generate");
  app.set_version_flag("--version", std::string(sdp::kVersion));
  std::string model;
  std::string prompt;
  sdp::GenerationOptions options;
  app.add_option("--model", model, "Folder of the exported model")->required();
  app.add_option("--prompt", prompt, "Text to go on from")->required();
  app.add_option("--tokens", options.tokens, "Bytes to generate")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--temperature", options.temperature, "0: always the likeliest byte")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--seed", options.seed, "The same seed, the same text")->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }

  const auto generator = sdp::TextGenerator::Load(model);
  if (!generator.ok()) {
    std::cerr << "generate: " << generator.status().message() << "\n";
    return 1;
  }
  const auto text = (*generator)->Generate(prompt, options);
  if (!text.ok()) {
    std::cerr << "generate: " << text.status().message() << "\n";
    return 1;
  }
  std::cout << *text << std::endl;
  return std::cout ? 0 : 1;
}
