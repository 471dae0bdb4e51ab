// The one table of the commands of `plat` and of the programs beside it. Dispatch, `plat --help`, completion, the
// manual pages and docs/flags.md derive from it.

import type {FlagRows, FlagTable} from '#src/options/flag.js';
import type {ParsedArguments} from '#src/options/grammar.js';
import type {Parsed} from '#src/options/parse.js';
import {runProgram, type Invocation} from '#src/program/program.js';

/** A command of `plat`. Its flags and its code are loaded on use. */
export interface Command {
  /** Its line in `plat --help`. */
  readonly about: string;
  flags(): Promise<FlagTable>;
  run(argv: readonly string[]): Promise<void>;
}

interface Source<R, P extends Parsed<R>> {
  readonly about: string;
  readonly flags: () => Promise<FlagTable<R>>;
  /** Splits the arguments into flags, with those that they imply, or refuses them. */
  readonly read?: (argv: readonly string[]) => Promise<ParsedArguments>;
  readonly load: (invocation: Invocation<R, P>) => Promise<(invocation: Invocation<R, P>) => Promise<number | void>>;
  /** Lays the command line over a configuration file. */
  readonly configure?: () => Promise<(parsed: Parsed<R>) => P | Promise<P>>;
}

/** A table whose types of options are those of any flags. */
const untyped = <R>(table: FlagTable<R>): FlagTable => table as unknown as FlagTable;

const command = <R = FlagRows, P extends Parsed<R> = Parsed<R>>({about, flags, read, load, configure}: Source<R, P>): Command => ({
  about,
  flags: async () => untyped(await flags()),
  run: async argv =>
    runProgram<R, P>(
      await flags(),
      read ? () => read(argv) : argv,
      async invocation => (await load(invocation))(invocation),
      configure && (async parsed => (await configure())(parsed)),
    ),
});

/** The commands of `plat` by their names, in the order of its help. */
export const commands: Readonly<Record<string, Command>> = {
  up: command({
    about: 'run a whole control plane in one process',
    flags: async () => (await import('#src/options/programs/up.js')).upFlags,
    read: async argv => (await import('./up/arguments.js')).upArguments(argv),
    load: async ({parsed: {options}}) =>
      options.detach ? (await import('./up/detach.js')).runDetached : (await import('./up/up.js')).runUp,
  }),
  ps: command({
    about: 'list the planes of this user',
    flags: async () => (await import('#src/options/programs/planes.js')).psFlags,
    load: async () => (await import('./planes/ps.js')).runPs,
  }),
  status: command({
    about: 'report the health of a plane, and what is wrong with it',
    flags: async () => (await import('#src/options/programs/planes.js')).statusFlags,
    load: async () => (await import('./planes/status.js')).runStatus,
  }),
  logs: command({
    about: 'print the log of a plane',
    flags: async () => (await import('#src/options/programs/planes.js')).logsFlags,
    load: async () => (await import('./planes/logs.js')).runLogs,
  }),
  stop: command({
    about: 'stop planes',
    flags: async () => (await import('#src/options/programs/planes.js')).stopFlags,
    load: async () => (await import('./planes/stop.js')).runStop,
  }),
  delete: command({
    about: 'delete a plane: its data, its keys and its context',
    flags: async () => (await import('#src/options/programs/planes.js')).deleteFlags,
    load: async () => (await import('./planes/delete.js')).runDelete,
  }),
  export: command({
    about: 'write what a report of an error needs to an archive',
    flags: async () => (await import('#src/options/programs/planes.js')).exportFlags,
    load: async () => (await import('./planes/export.js')).runExport,
  }),
  doctor: command({
    about: 'say what this machine lacks for which feature, and what to do',
    flags: async () => (await import('#src/options/programs/doctor.js')).doctorFlags,
    load: async () => (await import('./doctor/doctor.js')).runDoctor,
  }),
  why: command({
    about: 'say what an object waits for: the one rule that blocks it, and what would end that',
    flags: async () => (await import('#src/options/programs/questions/why.js')).whyFlags,
    load: async () => (await import('./why/why.js')).runWhy,
  }),
  top: command({
    about: 'show what a cluster is doing on one screen of a terminal',
    flags: async () => (await import('#src/options/programs/top.js')).topFlags,
    load: async () => (await import('./top/top.js')).runTop,
  }),
  console: command({
    about: 'serve a page that shows a cluster, on this machine',
    flags: async () => (await import('#src/options/programs/console.js')).consoleFlags,
    load: async () => (await import('./console/console.js')).runConsole,
  }),
  check: command({
    about: 'say what would happen if files were applied, with file and line, for people and CI',
    flags: async () => (await import('#src/options/programs/questions/check.js')).checkFlags,
    load: async () => (await import('./check/check.js')).runCheck,
  }),
  forecast: command({
    about: 'say what happens to the objects of a cluster when time passes, in a copy with a clock of its own',
    flags: async () => (await import('#src/options/programs/questions/forecast.js')).forecastFlags,
    load: async () => (await import('./forecast/forecast.js')).runForecast,
  }),
  nodes: command({
    about: 'run simulated nodes against a cluster that is there',
    flags: async () => (await import('#src/options/programs/nodes.js')).nodesFlags,
    load: async ({parsed: {args}}) =>
      args.length > 0 ? (await import('./nodes/scale.js')).runScale : (await import('./nodes/run.js')).runNodes,
  }),
  platlet: {
    about: 'run the agent of a node, which runs pods in real containers',
    flags: async () => untyped((await import('#src/options/programs/platlet.js')).platletFlags),
    run: async argv => (await import('./platlet/start.js')).startPlatlet(argv),
  },
  node: command({
    about: 'prepare this machine as a node, or remove what the agent of a node has left on it',
    flags: async () => (await import('#src/options/programs/node.js')).nodeFlags,
    load: async () => (await import('./node/clean.js')).runNode,
  }),
  certificate: command({
    about: 'approve or deny certificate signing requests',
    flags: async () => (await import('#src/options/programs/client.js')).certificateFlags,
    load: async () => (await import('./certificate/certificate.js')).runCertificate,
  }),
  token: command({
    about: 'create, list and delete bootstrap tokens, with which nodes join',
    flags: async () => (await import('#src/options/programs/client.js')).tokenFlags,
    load: async () => (await import('./token/token.js')).runToken,
  }),
  snapshot: command({
    about: 'save, verify and restore the data of a store, or copy them to another one',
    flags: async () => (await import('#src/options/programs/snapshot.js')).snapshotFlags,
    load: async () => (await import('./snapshot/snapshot.js')).runSnapshot,
  }),
  envtest: command({
    about: 'let the test environments of other languages (envtest) start plat',
    flags: async () => (await import('#src/options/programs/envtest.js')).envtestFlags,
    load: async () => (await import('./envtest/envtest.js')).runEnvtest,
  }),
  generate: command({
    about: 'write types from custom resource definitions, or definitions from types',
    flags: async () => (await import('#src/options/programs/generate.js')).generateFlags,
    load: async () => (await import('./generate/generate.js')).runGenerate,
  }),
  create: command({
    about: 'create the project of an operator',
    flags: async () => (await import('#src/options/programs/create.js')).createFlags,
    load: async () => (await import('./create/create.js')).runCreate,
  }),
  package: command({
    about: 'write what ships an operator: one file to apply, a Helm chart, and a bundle for OLM',
    flags: async () => (await import('#src/options/programs/package.js')).packageFlags,
    load: async () => (await import('./package/package.js')).runPackage,
  }),
  completion: command({
    about: 'print a script with which a shell completes commands, flags and values',
    flags: async () => (await import('#src/options/programs/completion.js')).completionFlags,
    load: async () => (await import('./completion/completion.js')).completion(flagTables),
  }),
  demo: command({
    about: 'run the main job from end to end in a temporary directory and narrate it',
    flags: async () => (await import('#src/options/programs/demo.js')).demoFlags,
    load: async () => (await import('./demo/demo.js')).runDemo,
  }),
  version: command({
    about: 'print the version',
    flags: async () => (await import('#src/options/programs/client.js')).versionFlags,
    load: async () => (await import('./version.js')).runVersion,
  }),
};

/**
 * The flags of the programs that have a file of their own in `bin`, by its name. The entry points are src/cli/NAME.ts.
 */
export const programs: Readonly<Record<string, () => Promise<FlagTable>>> = {
  'plat-apiserver': async () => untyped((await import('#src/options/programs/apiserver.js')).apiserverFlags),
  'plat-controller-manager': async () => untyped((await import('#src/options/programs/controller-manager.js')).controllerManagerFlags),
  'plat-scheduler': async () => untyped((await import('#src/options/programs/scheduler.js')).schedulerFlags),
  'plat-dns': async () => untyped((await import('#src/options/programs/dns.js')).dnsFlags),
  platlet: async () => untyped((await import('#src/options/programs/platlet.js')).platletFlags),
  'plat-proxy': async () => untyped((await import('#src/options/programs/proxy.js')).proxyFlags),
};

/** The command that runs the program of the same name, and has no page and no section of flags of its own. */
const isProgram = (name: string): boolean => Object.hasOwn(programs, name);

/** Returns the flags of all programs and of all commands, in the order of the documentation. */
export const flagTables = (): Promise<readonly FlagTable[]> =>
  Promise.all([
    ...Object.values(programs).map(flags => flags()),
    ...Object.entries(commands)
      .filter(([name]) => !isProgram(name))
      .map(([, {flags}]) => flags()),
  ]);
