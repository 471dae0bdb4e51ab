import {commandConnection} from './client.js';
import {rates} from '#src/options/controller-manager/limits.js';
import {flagSection, flagTable} from '#src/options/flag.js';
import {commandLogging, help} from '#src/options/shared/logging.js';
import {clientNaming} from '#src/options/shared/naming.js';
import {tlsFiles, tlsLimits} from '#src/options/shared/serving.js';

const {'plat-api-qps': qps, 'plat-api-burst': burst} = rates.rows;

const label = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;
const maxNameLength = 63;

const nodes = flagSection('Nodes', {
  ...commandConnection,
  ...clientNaming,
  nodes: {type: 'int', help: 'Number of simulated nodes.', default: '1', range: {min: 1, max: 1000}},
  'simulation-file': {
    type: 'path',
    help: 'Rules for the behavior of simulated nodes and their pods, as YAML or JSON (docs/simulation.md).',
  },
  'simulated-volumes': {
    type: 'bool',
    help: 'Run the simulated CSI driver too, with its storage class that claims have by default (docs/simulation.md). Programs that run nodes on one cluster all need it, or none.',
  },
  'node-name-prefix': {
    type: 'string',
    help: 'Prefix of the names of the nodes, followed by a number from 0. Programs that run nodes on one cluster need different ones.',
    default: 'sim-node-',
    check: (prefix: string) =>
      label.test(`${prefix}0`) && `${prefix}999`.length <= maxNameLength
        ? undefined
        : 'must form valid names of nodes: lower case letters, digits, "-" and ".", 60 characters at most',
  },
  'node-ip': {
    type: 'ip',
    help: 'The address that the nodes report and by which API servers reach their agents. Calls through the nodes/proxy subresource refuse loopback addresses.',
    shownDefault: 'an address of this host, or 127.0.0.1 where it has none',
  },
  'plat-api-qps': {
    ...qps,
    help: 'Requests to the API server per second, for each node. 0 selects 5; below 0 there is no limit.',
    default: '50',
  },
  'plat-api-burst': {...burst, help: 'Maximum burst of requests of a node to the API server. 0 selects 10.', default: '100'},
  ...commandLogging,
  ...help,
});

const agents = flagSection('Agents', {
  'bind-address': {type: 'ip', help: 'The address at which the agents of the nodes listen.', shownDefault: 'that of --node-ip'},
  'secure-port': {
    type: 'port',
    help: "The HTTPS port of the first node's agent; the agents of the others use the following ports. 0 selects free ports.",
    default: '0',
  },
  'client-ca-file': {
    type: 'path',
    help: 'Authorities whose client certificates identify a caller by common name.',
    shownDefault: 'those that the cluster publishes in the ConfigMap extension-apiserver-authentication',
  },
  'cert-dir': {
    type: 'path',
    help: 'The directory of the self-signed serving pair. If unset, the pair is kept in memory. Ignored when --tls-cert-file and --tls-private-key-file are given.',
  },
  ...tlsFiles,
  ...tlsLimits,
});

/** The flags of `plat nodes`. */
export const nodesFlags = flagTable({
  program: 'plat nodes',
  summary:
    'Runs simulated nodes for an existing cluster, and prints a line that begins with "ready" once all of them are ready. scale changes the number of those of a plane that runs, until it stops.',
  positional: '[scale N]',
  sections: [
    nodes,
    agents,
    flagSection('Scale', {
      name: {
        type: 'string',
        help: 'With scale: the plane of this user (plat ps) that gets N simulated nodes.',
        default: 'default',
        completes: 'planes',
      },
    }),
  ],
  rules: [
    ({securePort, nodes: count}) =>
      securePort > 0 && securePort + count - 1 > 65_535 ? '--secure-port: too few ports follow it for the number of --nodes' : undefined,
  ],
});
