import {oneLine, runProgram} from './program.js';

/** What `plat` can do, each loaded when asked for. */
const commands: Readonly<Record<string, {readonly about: string; run(argv: readonly string[]): Promise<void>}>> = {
  up: {
    about: 'run a whole control plane in one process',
    run: async argv => runProgram((await import('#src/options/up.js')).upFlags, argv, async invocation => (await import('./up.js')).runUp(invocation)),
  },
  certificate: {
    about: 'approve or deny certificate signing requests',
    run: async argv =>
      runProgram((await import('#src/options/client.js')).certificateFlags, argv, async invocation => (await import('./certificate.js')).runCertificate(invocation)),
  },
  demo: {
    about: 'run the main job from end to end in a temporary directory and narrate it',
    run: async argv => runProgram((await import('#src/options/demo.js')).demoFlags, argv, async invocation => (await import('./demo/demo.js')).runDemo(invocation)),
  },
  version: {
    about: 'print the version',
    run: async argv =>
      runProgram((await import('#src/options/client.js')).versionFlags, argv, async ({version, print}) => print(`plat ${version.gitVersion}`)),
  },
};

const usage = `plat: a Kubernetes-style control plane

Usage:
  plat COMMAND [flags]

Commands:
${Object.entries(commands)
  .map(([name, {about}]) => `  ${name.padEnd(12)} ${about}`)
  .join('\n')}

"plat COMMAND --help" tells the flags of a command.
`;

const [name = '', ...argv] = process.argv.slice(2);
const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
if (command) void command.run(argv);
else if (name === '' || name === '-h' || name === '--help' || name === 'help') process.stdout.write(usage);
else {
  process.stderr.write(`plat: ${oneLine(`unknown command ${JSON.stringify(name)}: "plat --help" lists the commands`)}\n`);
  process.exit(1);
}
