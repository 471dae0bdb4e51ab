// The kernel as the proxy sees it: runs scripts of nft against a model of its tables, and refuses what nft refuses.

import type {Command, Finished, ProxyKernel} from '#src/proxy/kernel/kernel.js';

interface FakeTable {
  readonly chains: Map<string, string[]>;
  readonly hooks: Map<string, string>;
  /** Elements by their keys, with their verdicts and comments. */
  readonly containers: Map<string, {readonly definition: string; readonly elements: Map<string, string>}>;
}

const missing = (what: string): Error => new Error(`Error: No such file or directory: ${what}`);

const copy = (table: FakeTable): FakeTable => ({
  chains: new Map([...table.chains].map(([name, rules]) => [name, [...rules]])),
  hooks: new Map(table.hooks),
  containers: new Map([...table.containers].map(([name, {definition, elements}]) => [name, {definition, elements: new Map(elements)}])),
});

const words = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

/** An element without its comment: `KEY` and `VERDICT`. */
const elementOf = (text: string): readonly [key: string, value: string] => {
  const [, key = '', comment = '', verdict = ''] = /^\{ (.*?)( comment "[^"]*")?(?: : (.*))? \}$/.exec(text) ?? [];
  return [key, words(`${verdict}${comment}`)];
};

const references = (table: FakeTable, target: string): boolean => {
  const leads = (text: string) =>
    text.split(/[\s,{}]+/).some((word, at, all) => word === target && ['goto', 'jump'].includes(all[at - 1]!));
  return (
    [...table.chains.values()].some(rules => rules.some(leads)) ||
    [...table.containers.values()].some(({elements}) => [...elements.values()].some(leads))
  );
};

/** A kernel that keeps what it was told. */
export class FakeNft implements ProxyKernel {
  tables = new Map<string, FakeTable>();
  readonly scripts: string[][] = [];
  readonly commands: Command[] = [];
  version = 'nftables v1.0.6 (Lester Gooch #5)';
  kernelRelease = '6.1.0';
  localAddresses: string[] = [];
  /** The scripts that are to fail before they are run. */
  failures = 0;

  release(): string {
    return this.kernelRelease;
  }

  addresses(): readonly string[] {
    return this.localAddresses;
  }

  hasIpv6(): Promise<boolean> {
    return Promise.resolve(true);
  }

  readSysctl(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  writeSysctl(): Promise<void> {
    return Promise.resolve();
  }

  run(command: Command): Promise<Finished> {
    this.commands.push(command);
    try {
      return Promise.resolve({exitCode: 0, stdout: this.#answer(command), stderr: ''});
    } catch (error) {
      return Promise.resolve({exitCode: 1, stdout: '', stderr: (error as Error).message});
    }
  }

  #answer({args, input = ''}: Command): string {
    if (args[0] === '--version') return this.version;
    if (args.includes('list')) return this.#list(args);
    const lines = input.split('\n').filter(line => line.trim() !== '' && !line.trim().startsWith('#'));
    if (args[0] === '--check') return '';
    if (this.failures > 0) {
      this.failures--;
      throw new Error('Error: Could not process rule: Device or resource busy');
    }
    const before = new Map([...this.tables].map(([name, table]) => [name, copy(table)]));
    try {
      for (const line of lines) this.#do(words(line));
    } catch (error) {
      this.tables = before;
      throw error;
    }
    this.scripts.push(lines.map(words));
    return '';
  }

  #list(args: readonly string[]): string {
    const family = args.at(-1)!;
    const kind = args.includes('chains') ? 'chain' : 'set';
    const tables = [...this.tables].filter(([name]) => name.startsWith(`${family} `));
    const listed = tables.flatMap(([name, {chains, containers}]) =>
      kind === 'chain'
        ? [...chains.keys()].map(chain => ({table: name.split(' ')[1], name: chain}))
        : [...containers].map(([set, {definition}]) => ({
            table: name.split(' ')[1],
            name: set,
            timeout: Number(/timeout (\d+)s/.exec(definition)?.[1]),
          })),
    );
    return JSON.stringify({nftables: [{metainfo: {json_schema_version: 1}}, ...listed.map(each => ({[kind]: each}))]});
  }

  #do(line: string): void {
    const [, verb = '', object = '', family = '', table = '', name = '', rest = ''] =
      /^(\w+) (\w+) (\w+) (\S+)(?: (\S+))?(?: (.*))?$/.exec(line) ?? [];
    const at = `${family} ${table}`;
    if (object === 'table') return this.#table(verb, at);
    const known = this.tables.get(at);
    if (!known) throw missing(line);
    if (object === 'chain') this.#chain(known, verb, name, rest);
    else if (object === 'rule') this.#rule(known, name, rest);
    else if (object === 'element') this.#element(known, verb, name, rest);
    else this.#container(known, verb, name, rest);
  }

  #table(verb: string, at: string): void {
    if (verb === 'delete' && !this.tables.delete(at)) throw missing(at);
    if (verb === 'add' && !this.tables.has(at)) this.tables.set(at, {chains: new Map(), hooks: new Map(), containers: new Map()});
  }

  #chain({chains, hooks, ...table}: FakeTable, verb: string, name: string, rest: string): void {
    if (verb !== 'add' && !chains.has(name)) throw missing(`chain ${name}`);
    if (verb === 'delete' && references({chains, hooks, ...table}, name)) throw new Error(`Error: Device or resource busy: ${name}`);
    if (verb === 'delete') chains.delete(name);
    if (verb === 'flush' || (verb === 'add' && !chains.has(name))) chains.set(name, []);
    if (verb === 'add' && rest) hooks.set(name, rest);
  }

  #rule(table: FakeTable, chain: string, rule: string): void {
    const rules = table.chains.get(chain);
    if (!rules) throw missing(`chain ${chain}`);
    for (const [, target = ''] of rule.matchAll(/\b(?:goto|jump) ([^\s,}]+)/g))
      if (!table.chains.has(target)) throw missing(`chain ${target}`);
    for (const [, set = ''] of rule.matchAll(/@(\S+)/g)) if (!table.containers.has(set)) throw missing(`set ${set}`);
    rules.push(rule);
  }

  #container({containers, chains}: FakeTable, verb: string, name: string, rest: string): void {
    const known = containers.get(name);
    if (verb !== 'add' && !known) throw missing(`set ${name}`);
    if (verb === 'flush') known!.elements.clear();
    if (verb === 'delete') {
      if ([...chains.values()].some(rules => rules.some(rule => rule.includes(`@${name} `))))
        throw new Error(`Error: Device or resource busy: ${name}`);
      containers.delete(name);
    }
    if (verb !== 'add') return;
    if (known && known.definition !== rest) throw new Error(`Error: File exists: ${name}`);
    if (!known) containers.set(name, {definition: rest, elements: new Map()});
  }

  #element(table: FakeTable, verb: string, name: string, rest: string): void {
    const container = table.containers.get(name);
    if (!container) throw missing(`set ${name}`);
    const [key, value] = elementOf(rest);
    const [, target] = /goto (\S+)/.exec(value) ?? [];
    if (target !== undefined && !table.chains.has(target)) throw missing(`chain ${target}`);
    if (verb === 'delete' && !container.elements.delete(key)) throw missing(`element ${key}`);
    if (verb === 'add' && (container.elements.get(key) ?? value) !== value) throw new Error(`Error: File exists: ${key}`);
    if (verb === 'add') container.elements.set(key, value);
  }

  /** The rules and elements of a table as commands that would make it, sorted but for the rules of a chain. */
  dump(at = 'ip kube-proxy'): string[] {
    const table = this.tables.get(at);
    if (!table) return [];
    return [
      ...[...table.containers].flatMap(([name, {definition, elements}]) => [
        `add set ${name} ${definition}`,
        ...[...elements].map(([key, value]) => `add element ${name} { ${key}${value ? ` : ${value}` : ''} }`),
      ]),
      ...[...table.chains.keys()].map(name => words(`add chain ${name} ${table.hooks.get(name) ?? ''}`)),
      ...[...table.chains].map(([name, rules]) => rules.map(rule => `add rule ${name} ${rule}`).join('\n')),
    ]
      .filter(text => text !== '')
      .sort();
  }
}

/** Runs commands in a kernel of their own, and returns the table that they make. */
export const tableOf = async (script: string): Promise<string[]> => {
  const kernel = new FakeNft();
  const {stderr} = await kernel.run({program: 'nft', args: ['-f', '-'], input: script});
  if (stderr) throw new Error(stderr);
  return kernel.dump();
};
