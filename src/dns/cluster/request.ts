/** What a name below the cluster's domain asks for. */
export type NameRequest =
  | {readonly kind: 'none'}
  /** A name that exists without records: the domain, `svc`, `pod`, or a namespace below them. */
  | {readonly kind: 'node'; readonly namespace?: string}
  | ({readonly kind: 'pod'} & Below)
  | ({readonly kind: 'service'; readonly port?: string; readonly protocol?: string; readonly endpoint?: string} & Below);

interface Below {
  readonly namespace: string;
  /** The label before the namespace: a service, or the address of a pod. */
  readonly name: string;
}

const plain = (label: string): string => (label.startsWith('_') ? label.slice(1) : label);

/**
 * Reads the labels before the cluster's domain, in lower case: `[_port._protocol.|endpoint.]service.namespace.svc`, or
 * `address.namespace.pod`.
 */
export const readNameRequest = (labels: readonly string[]): NameRequest => {
  if (labels.length === 0) return {kind: 'node'};
  const [kind = '', namespace, name, first, second, ...more] = labels.toReversed();
  if (kind !== 'svc' && kind !== 'pod') return {kind: 'none'};
  if (namespace === undefined) return {kind: 'node'};
  if (name === undefined) return {kind: 'node', namespace};
  if (more.length > 0) return {kind: 'none'};
  if (kind === 'pod') return {kind: 'pod', namespace, name};
  if (first === undefined) return {kind: 'service', namespace, name};
  if (second === undefined) return {kind: 'service', namespace, name, endpoint: first};
  return {kind: 'service', namespace, name, protocol: plain(first), port: plain(second)};
};

/**
 * The address in the name of a pod, with dashes for dots or colons: three single dashes are an address of IPv4.
 */
export const dashedAddress = (label: string): string => {
  const dashes = label.split('-').length - 1;
  return label.replaceAll('-', dashes === 3 && !label.includes('--') ? '.' : ':');
};
