// Pods of other nodes see the addresses of those that talk to them: traffic from pods to them is not masqueraded, as
// the bridge of a node does with all that leaves it.

import {chainLine} from '#src/proxy/iptables/names.js';
import type {Iptables} from '#src/proxy/iptables/iptables.js';
import type {WantedRoutes} from './wanted-routes.js';

export const podSourcesChain = 'PLAT-POD-SOURCES';

/** Before the rules of CNI plugins, which are behind all others. */
const jump = ['-m', 'comment', '--comment', 'traffic between pods of nodes', '-j', podSourcesChain];

/** The proxy masquerades what has the mark, as a pod that reaches itself by a service. */
const unmarked = '-m mark ! --mark 0x4000/0x4000';

/** Lets packets from the node's own pods to those of the others keep their source. */
export const keepPodSources = async (iptables: Iptables, {own, routes}: WantedRoutes): Promise<void> => {
  const rules = own.flatMap(source => routes.map(({range}) => `-A ${podSourcesChain} -s ${source} -d ${range} ${unmarked} -j ACCEPT`));
  await iptables.restore(`${['*nat', chainLine(podSourcesChain), ...rules, 'COMMIT'].join('\n')}\n`);
  await iptables.ensureRule('nat', 'POSTROUTING', jump);
};

/** Removes what `keepPodSources` has written. */
export const removePodSources = async (iptables: Iptables): Promise<void> => {
  if ((await iptables.chainExists('nat', podSourcesChain)) === false) return;
  await iptables.deleteRule('nat', 'POSTROUTING', jump);
  await iptables.restore(`${['*nat', chainLine(podSourcesChain), `-X ${podSourcesChain}`, 'COMMIT'].join('\n')}\n`);
};
