import { defineConfig, globalIgnores } from "eslint/config";
import tseslint from "typescript-eslint";

export default defineConfig(
  globalIgnores(["dist/", "docs/", "**/*.js", "**/*.d.ts"]),
  tseslint.configs.strictTypeChecked,
  tseslint.configs.stylisticTypeChecked,
  {
    languageOptions: { parserOptions: { project: ["tsconfig.json", "tsconfig.test.json", "conformance/tsconfig.json"], tsconfigRootDir: import.meta.dirname } },
    rules: {
      // Numbers and tokens are shown in messages.
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
    },
  },
  { files: ["**/*.mjs"], extends: [tseslint.configs.disableTypeChecked] },
  {
    files: ["test/**"],
    rules: {
      // test() and its kin of node:test return promises that the runner waits for.
      "@typescript-eslint/no-floating-promises": [
        "error",
        { allowForKnownSafeCalls: [{ from: "package", package: "node:test", name: ["after", "before", "beforeEach", "afterEach", "describe", "it", "suite", "test"] }] },
      ],
    },
  },
);
