// The chains that an agent has created, kept in its folder so that they, and no others, can be deleted again.

import {join} from 'node:path';
import type {Host} from '#src/platlet/host/host.js';
import {deleteChains, type CreatedChain} from './chains.js';
import {Iptables, type IpFamily} from './iptables.js';

/** The file in the agent's folder. */
export const createdChains = 'iptables_chains.json';

interface KeptChain extends CreatedChain {
  readonly family: IpFamily;
}

const nameOf = ({family, table, chain}: KeptChain): string => `${chain} (${table}, ${family})`;

const read = async (host: Pick<Host, 'read'>, root: string): Promise<readonly KeptChain[]> =>
  JSON.parse(String((await host.read(join(root, createdChains))) ?? '[]')) as readonly KeptChain[];

/** Adds a chain to the file. */
export const keepChain = async (
  host: Pick<Host, 'read' | 'writeFile'>,
  root: string,
  family: IpFamily,
  created: CreatedChain,
): Promise<void> => {
  const kept = await read(host, root);
  const added = {family, ...created};
  if (kept.some(each => nameOf(each) === nameOf(added))) return;
  await host.writeFile(join(root, createdChains), `${JSON.stringify([...kept, added])}\n`, 0o600);
};

/** Deletes the chains of the file that no one else uses. Returns the names of those that are gone. */
export const deleteKeptChains = async (host: Pick<Host, 'read' | 'execute'>, root: string): Promise<readonly string[]> => {
  const names: string[] = [];
  const kept = await read(host, root);
  for (const family of ['IPv4', 'IPv6'] as const) {
    const gone = await deleteChains(
      new Iptables(family, host),
      kept.filter(each => each.family === family),
    );
    names.push(...gone.map(each => nameOf({family, ...each})));
  }
  return names;
};
