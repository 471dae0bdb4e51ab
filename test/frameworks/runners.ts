// Where the example operator's test runs, and with what command: docs/testing-from/javascript.md shows them.

export interface Framework {
  readonly name: string;
  /** What is installed, of a release that runs on the oldest Node.js that plat does; nothing for what Node.js has. */
  readonly install?: string;
  /** The file with the test, in examples/labels. */
  readonly test: string;
  readonly command: string;
}

export const frameworks: readonly Framework[] = [
  {name: 'node:test', test: 'node.test.ts', command: 'node --test node.test.js'},
  {name: 'vitest', install: 'vitest@3', test: 'vitest.test.ts', command: 'npm exec -- vitest run vitest.test.ts --testTimeout=120000'},
  {
    name: 'jest',
    install: 'jest@30',
    test: 'jest.test.js',
    command: 'node --experimental-vm-modules node_modules/jest/bin/jest.js jest.test.js --testTimeout=120000',
  },
  {name: 'mocha', install: 'mocha@11', test: 'mocha.test.js', command: 'npm exec -- mocha mocha.test.js --timeout=120000'},
];

export interface Runtime {
  readonly name: string;
  /** The package with the runtime for Linux on x86-64, which needs no install script. */
  readonly package: string;
  readonly program: string;
  readonly test: string;
  readonly command: string;
}

export const runtimes: readonly Runtime[] = [
  {
    name: 'bun',
    package: '@oven/bun-linux-x64',
    program: 'bin/bun',
    test: 'bun.test.js',
    command: 'bun test bun.test.js --timeout=120000',
  },
  {
    name: 'deno',
    package: '@deno/linux-x64-glibc',
    program: 'deno',
    test: 'runtime.ts',
    command: 'deno run --allow-all --node-modules-dir=manual runtime.js',
  },
];
