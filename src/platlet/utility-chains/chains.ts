// The chains of the agent in iptables, in every naming the same, since other programs look for them. The hint chain
// lets those find out which of the two implementations of iptables the machine uses; the firewall chain drops what
// reaches local addresses from outside where a proxy has opened those to node ports.

import type {Iptables, IptablesTable} from './iptables.js';

/** The tables with a canary, in the order in which they are looked at. */
export const canaryTables: readonly IptablesTable[] = ['mangle', 'nat', 'filter'];
export const canaryChain = 'KUBE-KUBELET-CANARY';
const hintChain = 'KUBE-IPTABLES-HINT';
const firewallChain = 'KUBE-FIREWALL';

/** The same as that of proxies, which create it as well. */
const comment = 'block incoming localnet connections';
const dropRule = [
  ...'-m comment --comment'.split(' '),
  comment,
  ...'--dst 127.0.0.0/8 ! --src 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP'.split(' '),
];
const jumpRule = ['-j', firewallChain];

/** A chain that the agent has created. */
export interface CreatedChain {
  readonly table: IptablesTable;
  readonly chain: string;
}

/** Takes note of a chain that was created. */
type Note = (created: CreatedChain) => Promise<void>;

const ensureChain = async (iptables: Iptables, note: Note, table: IptablesTable, chain: string): Promise<void> => {
  if (await iptables.ensureChain(table, chain)) await note({table, chain});
};

/** Ensures that the chains and their rules exist. Rejects at the first that fails. */
export const ensureChains = async (iptables: Iptables, note: Note): Promise<void> => {
  await ensureChain(iptables, note, 'mangle', hintChain);
  if (iptables.family === 'IPv6') return; // Its local addresses cannot be reached from outside.
  await ensureChain(iptables, note, 'filter', firewallChain);
  for (const chain of ['OUTPUT', 'INPUT']) await iptables.ensureRule('prepend', 'filter', chain, jumpRule);
  await iptables.ensureRule('append', 'filter', firewallChain, dropRule);
};

/** Ensures that the canaries exist. */
export const ensureCanaries = async (iptables: Iptables, note: Note): Promise<void> => {
  for (const table of canaryTables) await ensureChain(iptables, note, table, canaryChain);
};

/** Deletes chains that an agent has created, unless others have put rules into them. Returns those that are gone. */
export const deleteChains = async (iptables: Iptables, created: readonly CreatedChain[]): Promise<readonly CreatedChain[]> => {
  const gone: CreatedChain[] = [];
  for (const each of created) {
    if (each.chain === firewallChain && !(await emptyFirewall(iptables))) continue;
    if (await iptables.deleteChain(each.table, each.chain)) gone.push(each);
  }
  return gone;
};

/** Returns whether the firewall chain had no rules but that of the agent. */
const emptyFirewall = async (iptables: Iptables): Promise<boolean> => {
  if ((await iptables.ruleCount('filter', firewallChain)) > 1) return false;
  for (const chain of ['OUTPUT', 'INPUT']) await iptables.deleteRule('filter', chain, jumpRule);
  await iptables.deleteRule('filter', firewallChain, dropRule);
  return true;
};
