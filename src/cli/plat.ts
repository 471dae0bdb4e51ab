import {oneLine, runProgram} from '#src/program/program.js';

/** The commands of `plat`, each loaded on use. */
const commands: Readonly<Record<string, {readonly about: string; run(argv: readonly string[]): Promise<void>}>> = {
  up: {
    about: 'run a whole control plane in one process',
    run: async argv =>
      runProgram((await import('#src/options/programs/up.js')).upFlags, argv, async invocation =>
        (await import('./up.js')).runUp(invocation),
      ),
  },
  nodes: {
    about: 'run simulated nodes against a cluster that is there',
    run: async argv =>
      runProgram((await import('#src/options/programs/nodes.js')).nodesFlags, argv, async invocation =>
        (await import('./nodes/run.js')).runNodes(invocation),
      ),
  },
  platlet: {
    about: 'run the agent of a node, which runs pods in real containers',
    run: async argv => (await import('./platlet/start.js')).startPlatlet(argv),
  },
  certificate: {
    about: 'approve or deny certificate signing requests',
    run: async argv =>
      runProgram((await import('#src/options/programs/client.js')).certificateFlags, argv, async invocation =>
        (await import('./certificate/certificate.js')).runCertificate(invocation),
      ),
  },
  token: {
    about: 'create, list and delete bootstrap tokens, with which nodes join',
    run: async argv =>
      runProgram((await import('#src/options/programs/client.js')).tokenFlags, argv, async invocation =>
        (await import('./token/token.js')).runToken(invocation),
      ),
  },
  snapshot: {
    about: 'save, verify and restore the data of a store, or copy them to another one',
    run: async argv =>
      runProgram((await import('#src/options/programs/snapshot.js')).snapshotFlags, argv, async invocation =>
        (await import('./snapshot/snapshot.js')).runSnapshot(invocation),
      ),
  },
  envtest: {
    about: 'let the test environments of other languages (envtest) start plat',
    run: async argv =>
      runProgram((await import('#src/options/programs/envtest.js')).envtestFlags, argv, async invocation =>
        (await import('./envtest/envtest.js')).runEnvtest(invocation),
      ),
  },
  generate: {
    about: 'write types from custom resource definitions, or definitions from types',
    run: async argv =>
      runProgram((await import('#src/options/programs/generate.js')).generateFlags, argv, async invocation =>
        (await import('./generate/generate.js')).runGenerate(invocation),
      ),
  },
  create: {
    about: 'create the project of an operator',
    run: async argv =>
      runProgram((await import('#src/options/programs/create.js')).createFlags, argv, async invocation =>
        (await import('./create/create.js')).runCreate(invocation),
      ),
  },
  completion: {
    about: 'print a script with which a shell completes commands, flags and values',
    run: async argv =>
      runProgram((await import('#src/options/programs/completion.js')).completionFlags, argv, async invocation =>
        (await import('./completion/completion.js')).runCompletion(invocation),
      ),
  },
  demo: {
    about: 'run the main job from end to end in a temporary directory and narrate it',
    run: async argv =>
      runProgram((await import('#src/options/programs/demo.js')).demoFlags, argv, async invocation =>
        (await import('./demo/demo.js')).runDemo(invocation),
      ),
  },
  version: {
    about: 'print the version',
    run: async argv =>
      runProgram((await import('#src/options/programs/client.js')).versionFlags, argv, async ({version, print}) =>
        print(`plat ${version.gitVersion}`),
      ),
  },
};

const usage = `plat: a Kubernetes-style control plane

Usage:
  plat COMMAND [flags]

Commands:
${Object.entries(commands)
  .map(([name, {about}]) => `  ${name.padEnd(12)} ${about}`)
  .join('\n')}

"plat COMMAND --help" or "plat help COMMAND" prints the flags of a command, "plat --version" the version.
`;

const commandOf = (name: string) => (Object.hasOwn(commands, name) ? commands[name] : undefined);

const refuse = (name: string): never => {
  process.stderr.write(`plat: ${oneLine(`unknown command ${JSON.stringify(name)}: "plat --help" lists the commands`)}\n`);
  process.exit(1);
};

const main = async ([name = '', ...argv]: readonly string[]): Promise<void> => {
  const command = commandOf(name);
  if (command) return command.run(argv);
  if (/^--version(=|$)/.test(name)) return commands['version']!.run(name === '--version' ? argv : [name]);
  if (!['', '-h', '--help', 'help'].includes(name)) return refuse(name);
  const [subject] = name === 'help' ? argv : [];
  if (subject === undefined) return void process.stdout.write(usage);
  await (commandOf(subject) ?? refuse(subject)).run(['--help']);
};

void main(process.argv.slice(2));
