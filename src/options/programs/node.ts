import {flagSection, flagTable, type OptionsOf} from '#src/options/flag.js';
import {node} from '#src/options/platlet/node.js';
import {validateDualStack} from '#src/options/rules.js';
import {commandLogging, help} from '#src/options/shared/logging.js';
import {clientNaming} from '#src/options/shared/naming.js';
import {commandConnection} from './client.js';

const {'root-dir': rootDir, 'container-runtime-endpoint': endpoint} = node.rows;

/** The flags of `plat node`. */
export const nodeFlags = flagTable({
  program: 'plat node',
  summary:
    'init writes the network of pods and prints what this machine lacks as a node. routes keeps routes to the pods of other nodes on its network. clean removes what an agent has left: pods, networks, mounts, control groups, folders and logs.',
  positional: 'init | routes | clean',
  sections: [
    flagSection('Agent', {
      'data-dir': {
        type: 'path',
        help: 'The data directory of a plane: the folders of the agent of plat up --agent are below it.',
        excludes: ['root-dir', 'pod-logs-dir'],
      },
      'root-dir': {...rootDir, help: "The directory of the agent's files, as for platlet."},
      'pod-logs-dir': {
        type: 'path',
        help: 'The directory of the logs of pods, podLogsDir of the configuration file.',
        default: '/var/log/pods',
      },
      'cgroup-root': {type: 'string', help: 'The cgroup under which pods run.', default: '', shownDefault: 'empty'},
      'container-runtime-endpoint': {type: 'string', help: 'The endpoint of the runtime, a unix socket.', default: endpoint.default},
    }),
    flagSection('Network', {
      'network-folder': {type: 'path', help: 'The folder of network configurations that the runtime reads.', default: '/etc/cni/net.d'},
      'pod-cidr': {
        type: 'cidrs',
        help: "The ranges of addresses of this node's pods, one of each family at most: podCIDRs of its Node.",
        default: '10.244.0.0/24',
      },
      bridge: {type: 'string', help: "The bridge that connects this node's pods.", default: 'cni0'},
      force: {type: 'bool', help: 'Write the network configuration also where another is there.', default: 'false'},
    }),
    flagSection('Routes', {
      ...commandConnection,
      ...clientNaming,
      'hostname-override': {type: 'string', help: 'The name of the Node of this machine.', shownDefault: 'the name of the host'},
    }),
    flagSection('Removal', {
      'grace-period': {type: 'duration', help: 'How long containers may take to stop.', default: '10s'},
      all: {
        type: 'bool',
        help: "Remove all pods of the runtime, also those of which the agent's folders have no files.",
        default: 'false',
      },
      ...commandLogging,
      ...help,
    }),
  ],
  rules: [({podCidr}) => validateDualStack('pod-cidr', podCidr)],
});

export type NodeOptions = OptionsOf<typeof nodeFlags>;
