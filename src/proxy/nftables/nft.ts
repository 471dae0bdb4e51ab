// The program nft: whether it may be used, what it lists, and transactions.

import {proxyTable, type Naming} from '#src/api/naming.js';
import {CommandError, outputOf, type ProxyKernel} from '#src/proxy/kernel/kernel.js';
import type {IpFamily} from '#src/proxy/state/ip-family.js';
import {familyWords} from './expressions.js';
import {isAffinitySet, isServiceChain} from './names.js';

/** Kernels from this release on come with an nft that understands what is written here. */
const leastKernel = [5, 13] as const;

/** What of the table exists in the kernel. */
export interface ExistingTable {
  /** The chains of services and endpoints. */
  readonly chains: ReadonlySet<string>;
  /** The sets of clients that stay with an endpoint, with the seconds for which they do. */
  readonly affinitySets: ReadonlyMap<string, number>;
}

interface Listed {
  readonly table?: string;
  readonly name?: string;
  readonly timeout?: number;
}

/** The program, for the table of one family. */
export class Nft {
  readonly #kernel: Pick<ProxyKernel, 'run'>;
  readonly #family: IpFamily;

  constructor(kernel: Pick<ProxyKernel, 'run'>, family: IpFamily) {
    this.#kernel = kernel;
    this.#family = family;
  }

  /** Runs commands in one transaction: all take effect, or none does. */
  async apply(lines: readonly string[]): Promise<void> {
    await outputOf(this.#kernel, {program: 'nft', args: ['-f', '-'], input: `${lines.join('\n')}\n`});
  }

  /** Reads which chains and sets exist; none without the table. */
  async existing(): Promise<ExistingTable> {
    const chains = await this.#list('chain', []);
    const sets = await this.#list('set', ['--terse']);
    return {
      chains: new Set(chains.flatMap(({name = ''}) => (isServiceChain(name) ? [name] : []))),
      affinitySets: new Map(sets.flatMap(({name = '', timeout = 0}) => (isAffinitySet(name) ? [[name, timeout] as const] : []))),
    };
  }

  /** Lists objects of a kind in the table, without what they hold: chains of large clusters have too many rules. */
  async #list(kind: 'chain' | 'set', options: readonly string[]): Promise<readonly Listed[]> {
    const args = ['--json', ...options, 'list', `${kind}s`, familyWords[this.#family].ip];
    const {nftables = []} = JSON.parse(await outputOf(this.#kernel, {program: 'nft', args})) as {
      readonly nftables?: readonly Readonly<Record<string, Listed>>[];
    };
    return nftables.flatMap(each => each[kind] ?? []).filter(({table}) => table === proxyTable.name);
  }

  /** The whole table as text, for the log. */
  async text(): Promise<string> {
    return outputOf(this.#kernel, {program: 'nft', args: ['list', 'table', familyWords[this.#family].ip, proxyTable.name]});
  }

  /** Deletes the table; does nothing without it. */
  async delete(): Promise<void> {
    try {
      await this.apply([`delete table ${familyWords[this.#family].ip} ${proxyTable.name}`]);
    } catch (error) {
      if (!(error instanceof CommandError && error.finished.stderr.includes('No such file or directory'))) throw error;
    }
  }
}

/** Throws why nft cannot be used: it is missing, too old, or not allowed to. */
const checkProgram = async (kernel: Pick<ProxyKernel, 'run'>): Promise<void> => {
  const version = await outputOf(kernel, {program: 'nft', args: ['--version']}).catch((error: unknown) => {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    throw new Error(
      isMissing
        ? 'could not find nftables binary: exec: "nft": executable file not found in $PATH'
        : `could not run nftables command: ${(error as Error).message}`,
      {cause: error},
    );
  });
  if (/^nftables v(?:0\.|1\.0\.0 )/.test(version)) throw new Error(`nft version must be v1.0.1 or later (got ${version.trim()})`);
  await outputOf(kernel, {program: 'nft', args: ['--check', '-f', '-'], input: `add table ip ${proxyTable.name}\n`}).catch(
    (error: unknown) => {
      throw new Error(`could not run nftables command: ${(error as Error).message}`, {cause: error});
    },
  );
};

const isOlder = (release: string): boolean => {
  const [major = 0, minor = 0] = release.split('.').map(part => parseInt(part, 10));
  return major < leastKernel[0] || (major === leastKernel[0] && minor < leastKernel[1]);
};

export interface NftablesCheck {
  readonly kernel: Pick<ProxyKernel, 'run' | 'release'>;
  readonly naming: Naming;
  /** The variables of the process: one of them skips the check of the kernel. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Rejects with the reason if the mode cannot work on the machine. */
export const checkNftables = async ({kernel, naming, environment}: NftablesCheck): Promise<void> => {
  await checkProgram(kernel);
  // The nft of the machine reads the rules as well. Which it has is unknown here; its kernel is about as old.
  if (environment[`${naming.prefix.toUpperCase()}_PROXY_NFTABLES_SKIP_KERNEL_VERSION_CHECK`]) return;
  const release = kernel.release();
  if (!/^\d+\.\d+/.test(release)) throw new Error(`could not check kernel version: could not parse ${JSON.stringify(release)} as version`);
  if (isOlder(release)) throw new Error(`${naming.component('proxy')} in nftables mode requires kernel ${leastKernel.join('.')} or later`);
};
