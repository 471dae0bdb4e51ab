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
  nodes: {type: 'int', help: 'How many simulated nodes to run.', default: '1', range: {min: 1, max: 1000}},
  'simulation-file': {
    type: 'path',
    help: 'Rules of how simulated nodes and the pods on them behave, as YAML or JSON (docs/simulation.md).',
  },
  'node-name-prefix': {
    type: 'string',
    help: 'Prefix of the names of the nodes, followed by a number from 0. Programs that run nodes on one cluster need different ones.',
    default: 'sim-node-',
    check: (prefix: string) =>
      label.test(`${prefix}0`) && `${prefix}999`.length <= maxNameLength
        ? undefined
        : 'must make names of nodes: lower case letters, digits, "-" and ".", 60 characters at most',
  },
  'node-ip': {
    type: 'ip',
    help: 'The address that the nodes report and by which API servers reach their agents. Calls through the nodes/proxy subresource refuse loopback addresses.',
    shownDefault: 'an address of this host, or 127.0.0.1 where it has none',
  },
  'plat-api-qps': {
    ...qps,
    help: 'Requests to the API server a second, for each node. 0 selects 5; below 0 there is no limit.',
    default: '50',
  },
  'plat-api-burst': {...burst, help: 'Requests to the API server that a node may make at once. 0 selects 10.', default: '100'},
  ...commandLogging,
  ...help,
});

const agents = flagSection('Agents', {
  'bind-address': {type: 'ip', help: 'The address at which the agents of the nodes listen.', shownDefault: 'that of --node-ip'},
  'secure-port': {
    type: 'port',
    help: "The HTTPS port of the first node's agent; the agents of the others take the ports behind it. 0 takes free ones.",
    default: '0',
  },
  'client-ca-file': {
    type: 'path',
    help: 'Authorities whose client certificates identify a caller by common name.',
    shownDefault: 'those that the cluster publishes in the ConfigMap extension-apiserver-authentication',
  },
  'cert-dir': {
    type: 'path',
    help: 'The directory of the self-signed serving pair. Without it the pair lives in memory. Ignored when --tls-cert-file and --tls-private-key-file are given.',
  },
  ...tlsFiles,
  ...tlsLimits,
});

/** The flags of `plat nodes`. */
export const nodesFlags = flagTable({
  program: 'plat nodes',
  summary: 'Runs simulated nodes against a cluster that is there, and prints a line that begins with "ready" once all of them are.',
  sections: [nodes, agents],
  rules: [
    ({securePort, nodes: count}) =>
      securePort > 0 && securePort + count - 1 > 65_535
        ? '--secure-port: there are not as many ports behind it as --nodes asks for'
        : undefined,
  ],
});
