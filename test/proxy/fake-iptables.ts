// A kernel that keeps the chains and rules that the programs of iptables are told.

import type {Command, Finished, ProxyKernel} from '#src/proxy/kernel/kernel.js';

const builtIn: Readonly<Record<string, readonly string[]>> = {
  mangle: ['PREROUTING', 'INPUT', 'FORWARD', 'OUTPUT', 'POSTROUTING'],
  nat: ['PREROUTING', 'INPUT', 'OUTPUT', 'POSTROUTING'],
  filter: ['INPUT', 'FORWARD', 'OUTPUT'],
};

const finished = (exitCode: number, stdout = '', stderr = ''): Finished => ({exitCode, stdout, stderr});
const missing = finished(1, '', 'iptables: No chain/target/match by that name.');

type Tables = ReadonlyMap<string, Map<string, string[]>>;

export class FakeIptables implements Pick<ProxyKernel, 'run' | 'addresses'> {
  readonly tables: Tables = new Map(
    Object.entries(builtIn).map(([table, chains]) => [table, new Map(chains.map(chain => [chain, [] as string[]]))]),
  );
  /** What each `iptables-restore` read. */
  readonly restored: string[] = [];
  readonly commands: string[] = [];
  localAddresses: readonly string[] = [];
  version = 'iptables v1.8.9 (nf_tables)';
  /** Programs that fail: `-S`, `restore`, `save`. */
  readonly failing = new Set<string>();

  addresses(): readonly string[] {
    return this.localAddresses;
  }

  async run({program, args, input = ''}: Command): Promise<Finished> {
    this.commands.push([program, ...args].join(' '));
    if (args[0] === '--version') return finished(0, this.version);
    if (program.endsWith('-save')) return this.failing.has('save') ? finished(1) : finished(0, this.#saved(args[1]!));
    if (program.endsWith('-restore')) return this.#restore(input);
    const [operation = '', chain = '', , table = '', ...rule] = args.slice(2);
    return this.#change(operation, this.tables.get(table)!, chain, rule.join(' '));
  }

  /** The rules of a chain. */
  rules(table: string, chain: string): readonly string[] | undefined {
    return this.tables.get(table)!.get(chain);
  }

  /** Whatever someone else does to the tables. */
  flush(): void {
    for (const [table, chains] of this.tables) {
      chains.clear();
      for (const chain of builtIn[table]!) chains.set(chain, []);
    }
  }

  #saved(table: string): string {
    return [...this.tables.get(table)!.keys()].map(chain => `:${chain} - [0:0]\n`).join('');
  }

  #change(operation: string, chains: Map<string, string[]>, chain: string, rule: string): Finished {
    if (this.failing.has(operation)) return finished(4, '', 'the tables are locked');
    const rules = chains.get(chain);
    if (operation === '-N') {
      if (rules) return finished(1, '', 'iptables: Chain already exists.');
      chains.set(chain, []);
      return finished(0);
    }
    if (!rules) return missing;
    const target = / ?-j (\S+)/.exec(rule)?.[1];
    if (target?.startsWith('KUBE-') && !chains.has(target)) return finished(2, '', `Chain '${target}' does not exist`);
    if (operation === '-I') rules.unshift(rule);
    else if (operation === '-C') return rules.includes(rule) ? finished(0) : missing;
    else if (operation === '-D') rules.splice(rules.indexOf(rule), 1);
    else if (operation === '-X') {
      if (rules.length > 0) return finished(1, '', 'not empty');
      chains.delete(chain);
    }
    return finished(0);
  }

  #restore(input: string): Finished {
    if (this.failing.has('restore')) return finished(2, '', 'iptables-restore: line 1 failed');
    this.restored.push(input);
    let chains = this.tables.get('filter')!;
    for (const line of input.split('\n')) {
      if (line.startsWith('*')) chains = this.tables.get(line.slice(1))!;
      else if (line.startsWith(':')) chains.set(line.slice(1).split(' ')[0]!, []);
      else if (line.startsWith('-X ')) chains.delete(line.slice(3));
      else if (line.startsWith('-A ')) {
        const [, chain = '', rule = ''] = /^-A (\S+) (.*)$/.exec(line) ?? [];
        const target = /-j (\S+)/.exec(rule)?.[1];
        if (target?.startsWith('KUBE-') && !chains.has(target)) return finished(1, '', `no chain ${target}`);
        if (!chains.has(chain)) return finished(1, '', `no chain ${chain}`);
        chains.get(chain)!.push(rule);
      }
    }
    return finished(0);
  }
}
