import {posix} from 'node:path';
import {messageOf} from '#src/base/message.js';
import {NoSpace} from '#src/simulation/files/files.js';
import {readTar, TarError, writeTar, type TarEntry} from '#src/simulation/files/tar.js';
import {resolvePath, type CommandContext, type CommandIo} from './context.js';

/** A program that every simulated container has. Resolves with its exit code; undefined for unsupported arguments. */
export type Program = (args: readonly string[], io: CommandIo, context: CommandContext) => Promise<number | undefined>;

const cat: Program = async (args, io, context) => {
  let code = 0;
  for (const name of args.length === 0 ? ['-'] : args) {
    if (name === '-') {
      for await (const chunk of (io.stdin ?? []) as AsyncIterable<Buffer>) await io.out(chunk);
      continue;
    }
    const file = context.files.get(resolvePath(context, name));
    if (file) await io.out(file.content);
    else {
      await io.err(
        `cat: ${name}: ${context.files.isDirectory(resolvePath(context, name)) ? 'Is a directory' : 'No such file or directory'}\n`,
      );
      code = 1;
    }
  }
  return code;
};

const test: Program = ([flag = '', name = '', ...more], _, context) => {
  const path = resolvePath(context, name);
  const file = context.files.get(path);
  const isDirectory = context.files.isDirectory(path);
  const results: Readonly<Record<string, boolean>> = {
    '-d': isDirectory,
    '-f': file !== undefined,
    '-e': file !== undefined || isDirectory,
    '-s': (file?.content.length ?? 0) > 0,
  };
  const result = more.length === 0 && Object.hasOwn(results, flag) ? results[flag] : undefined;
  return Promise.resolve(result === undefined ? undefined : result ? 0 : 1);
};

const ls: Program = async (args, io, context) => {
  const [name = '.', ...more] = args.filter(arg => arg !== '-1' && arg !== '-a');
  if (more.length > 0 || name.startsWith('-')) return undefined;
  const path = resolvePath(context, name);
  if (context.files.get(path)) await io.out(`${name}\n`);
  else if (context.files.isDirectory(path)) {
    const names = new Set(context.files.under(path).map(([below]) => below.slice(path === '/' ? 1 : path.length + 1).split('/')[0]));
    await io.out([...names].map(one => `${one}\n`).join(''));
  } else {
    await io.err(`ls: ${name}: No such file or directory\n`);
    return 1;
  }
  return 0;
};

const rm: Program = async (args, io, context) => {
  const names = args.filter(arg => !/^-[rRf]+$/.test(arg));
  const isForced = args.some(arg => /^-.*f/.test(arg));
  let code = 0;
  for (const name of names) {
    const path = resolvePath(context, name);
    if (context.files.get(path) || context.files.isDirectory(path)) context.files.remove(path);
    else if (!isForced) {
      await io.err(`rm: ${name}: No such file or directory\n`);
      code = 1;
    }
  }
  return code;
};

const mkdir: Program = async (args, _, context) => {
  for (const name of args.filter(arg => arg !== '-p')) context.files.addDirectory(resolvePath(context, name));
  return 0;
};

const touch: Program = async (args, _, context) => {
  for (const name of args) {
    const path = resolvePath(context, name);
    context.files.put(path, {content: context.files.get(path)?.content ?? Buffer.alloc(0), mode: 0o644, modifiedAt: context.clock.now()});
  }
  return 0;
};

interface TarCall {
  readonly creates: boolean;
  readonly directory: string;
  readonly paths: readonly string[];
}

const tarFlags = /^-?[cxmvfop]+$/;

/** Parses the arguments of `tar`. Only archives on the standard streams are supported. */
const tarCall = (args: readonly string[]): TarCall | undefined => {
  const [flags = '', file, ...rest] = args.filter(arg => !/^--no-same-(permissions|owner)$/.test(arg));
  const creates = flags.includes('c');
  if (!tarFlags.test(flags) || creates === flags.includes('x') || !flags.endsWith('f') || file !== '-') return undefined;
  const at = rest.indexOf('-C');
  const directory = at < 0 ? '.' : (rest[at + 1] ?? '.');
  const paths = at < 0 ? rest : [...rest.slice(0, at), ...rest.slice(at + 2)];
  return {creates, directory, paths};
};

function* entriesAt(context: CommandContext, directory: string, names: readonly string[]): Iterable<TarEntry> {
  for (const name of names) {
    const path = resolvePath(context, posix.join(name.startsWith('/') ? '/' : directory, name));
    // Members of archives have no leading slash.
    const memberName = (below: string) => posix.normalize(name + below.slice(path.length)).replace(/^\/+/, '');
    if (!context.files.get(path)) yield {path: `${memberName(path).replace(/\/$/, '')}/`};
    for (const [below, file] of context.files.under(path)) yield {path: memberName(below), file};
  }
}

const extract = async (io: CommandIo, context: CommandContext, directory: string): Promise<void> => {
  if (!io.stdin) return;
  const checkSpace = (bytes: number): void => {
    if (!context.files.hasRoom(bytes)) throw new NoSpace();
  };
  for await (const {path, file} of readTar(io.stdin, checkSpace)) {
    // Entries cannot leave the directory, as in `tar`.
    const target = resolvePath(context, posix.join(directory, posix.normalize(`/${path}`)));
    if (file) context.files.put(target, file);
    else context.files.addDirectory(target.replace(/(.)\/$/, '$1'));
  }
};

const tar: Program = async (args, io, context) => {
  const call = tarCall(args);
  if (!call) return undefined;
  try {
    if (!call.creates) {
      await extract(io, context, call.directory);
      return 0;
    }
    const missing = call.paths.filter(name => {
      const path = resolvePath(context, posix.join(name.startsWith('/') ? '/' : call.directory, name));
      return !context.files.get(path) && !context.files.isDirectory(path);
    });
    for (const piece of writeTar(
      entriesAt(
        context,
        call.directory,
        call.paths.filter(name => !missing.includes(name)),
      ),
    ))
      await io.out(piece);
    for (const name of missing) await io.err(`tar: ${name}: Cannot stat: No such file or directory\n`);
    return missing.length > 0 ? 2 : 0;
  } catch (error) {
    if (!(error instanceof TarError || error instanceof NoSpace)) throw error;
    await io.err(`tar: ${error instanceof NoSpace ? 'No space left on device' : messageOf(error)}\n`);
    return 2;
  }
};

/** The simulated programs that use files or streams. */
export const programs: ReadonlyMap<string, Program> = new Map([
  ['cat', cat],
  ['ls', ls],
  ['mkdir', mkdir],
  ['rm', rm],
  ['tar', tar],
  ['test', test],
  ['touch', touch],
  ['[', (args, io, context) => (args.at(-1) === ']' ? test(args.slice(0, -1), io, context) : Promise.resolve(undefined))],
]);
