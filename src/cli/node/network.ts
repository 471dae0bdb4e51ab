// The network configuration of a node, as CNI plugins read it: a bridge that gives pods addresses of the node's ranges.

import {isIpv6} from '#src/base/ip-address.js';

/** The file that `plat node init` writes. */
export const networkFile = '10-plat.conflist';

/** Returns the text of the configuration for the ranges of the node's pods, one of each family at most. */
export const networkText = (ranges: readonly string[], bridge: string): string =>
  `${JSON.stringify(
    {
      cniVersion: '0.4.0',
      name: 'plat',
      plugins: [
        {
          type: 'bridge',
          bridge,
          isGateway: true,
          ipMasq: true,
          hairpinMode: true,
          ipam: {
            type: 'host-local',
            ranges: ranges.map(subnet => [{subnet}]),
            routes: ranges.map(subnet => ({dst: isIpv6(subnet.split('/')[0]!) ? '::/0' : '0.0.0.0/0'})),
          },
        },
        {type: 'portmap', capabilities: {portMappings: true}, snat: true},
      ],
    },
    undefined,
    2,
  )}\n`;
