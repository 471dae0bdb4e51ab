import type {Naming} from '#src/api/naming.js';

/** Labels of the maker's domain that a node may give itself beside those under the agent's and the node's prefix. */
export const namedNodeLabels = (naming: Naming): readonly string[] => [
  ...['arch', 'instance-type', 'os'].map(name => naming.subKey('beta', name)),
  ...['region', 'zone'].map(name => naming.subKey('failure-domain.beta', name)),
  ...['arch', 'hostname', 'os'].map(naming.key),
  naming.subKey('node', 'instance-type'),
  ...['region', 'zone'].map(name => naming.subKey('topology', name)),
];

const within = (namespace: string, domain: string): boolean => namespace === domain || namespace.endsWith(`.${domain}`);

/** Whether a node may give itself a label: any that is not of the maker's domain, and some of those (KEP-279). */
export const isNodesOwnLabel = (label: string, naming: Naming): boolean => {
  const [namespace = '', name] = label.split('/');
  if (name === undefined) return true;
  const isOurs = within(namespace, naming.domain) || within(namespace, naming.apiSuffix);
  const isNodes = within(namespace, `${naming.agent}.${naming.domain}`) || within(namespace, `node.${naming.domain}`);
  return !isOurs || isNodes || namedNodeLabels(naming).includes(label);
};
