import type {Finished} from '#src/platlet/host/host.js';

const builtIn: Readonly<Record<string, readonly string[]>> = {
  mangle: ['PREROUTING', 'INPUT', 'FORWARD', 'OUTPUT', 'POSTROUTING'],
  nat: ['PREROUTING', 'INPUT', 'OUTPUT', 'POSTROUTING'],
  filter: ['INPUT', 'FORWARD', 'OUTPUT'],
};

/** The programs of iptables over tables in memory, as a host executes them. */
export class MemoryIptables {
  /** Rules by program, table and chain: `iptables filter INPUT`. */
  readonly chains = new Map<string, string[]>();
  readonly calls: string[] = [];
  /** Exits with this instead of doing anything. */
  exitCode: number | undefined;

  constructor(...programs: readonly ('iptables' | 'ip6tables')[]) {
    for (const program of programs)
      for (const [table, chains] of Object.entries(builtIn))
        for (const chain of chains) this.chains.set(`${program} ${table} ${chain}`, []);
  }

  /** Returns the chains that are not built in. */
  get added(): readonly string[] {
    return [...this.chains.keys()].filter(key => {
      const [, table = '', chain = ''] = key.split(' ');
      return !builtIn[table]?.includes(chain);
    });
  }

  /** Deletes what is not built in from some tables, as someone else does. */
  flush(...tables: readonly string[]): void {
    for (const key of this.chains.keys()) {
      const [, table = ''] = key.split(' ');
      if (!tables.includes(table)) continue;
      if (this.added.includes(key)) this.chains.delete(key);
      else this.chains.set(key, []);
    }
  }

  readonly execute = async (program: string, args: readonly string[]): Promise<Finished | undefined> => {
    if (![...this.chains.keys()].some(key => key.startsWith(`${program} `))) return undefined;
    const [, , operation = '', chain = '', , table = '', ...rule] = args;
    this.calls.push([program, operation, table, chain].join(' '));
    if (this.exitCode !== undefined) return {exitCode: this.exitCode, output: 'busy'};
    const isDone = this.#change(`${program} ${table} ${chain}`, operation, rule.join(' '));
    const rules = this.chains.get(`${program} ${table} ${chain}`) ?? [];
    return {
      exitCode: isDone ? 0 : 1,
      output: operation === '-S' ? [`-N ${chain}`, ...rules.map(each => `-A ${chain} ${each}`), ''].join('\n') : '',
    };
  };

  #change(key: string, operation: string, rule: string): boolean {
    const rules = this.chains.get(key);
    if (operation === '-N') return !rules && Boolean(this.chains.set(key, []));
    if (!rules) return false;
    if (operation === '-A') return rules.push(rule) > 0;
    if (operation === '-I') return rules.unshift(rule) > 0;
    if (operation === '-C') return rules.includes(rule);
    if (operation === '-D') return rules.includes(rule) && rules.splice(rules.indexOf(rule), 1).length > 0;
    if (operation === '-X') return rules.length === 0 && !this.#isUsed(key) && this.chains.delete(key);
    return operation === '-S';
  }

  #isUsed(key: string): boolean {
    const [program, table, chain] = key.split(' ');
    return [...this.chains].some(([each, rules]) => each.startsWith(`${program} ${table} `) && rules.includes(`-j ${chain}`));
  }
}
