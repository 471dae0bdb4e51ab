import type {DebugPage} from '#src/runtime/controller.js';
import type {Graph} from './graph.js';
import {identityOf, type Identity} from './identity.js';
import type {Node} from './node.js';

/** A node of the Graphviz output. */
interface Vertex {
  readonly id: number;
  readonly identity: Identity;
  readonly beingDeleted: boolean;
  readonly deletingDependents: boolean;
  readonly virtual: boolean;
  /** An owner that is not in the graph. */
  readonly missingFromGraph: boolean;
}

const states = ['beingDeleted', 'deletingDependents', 'virtual', 'missingFromGraph'] as const;

const quoted = (text: string | boolean): string => `"${String(text).replaceAll(/["\\]/g, '\\$&')}"`;

const attributesOf = (vertex: Vertex): string[] => {
  const {apiVersion, kind, namespace, name, uid} = vertex.identity;
  const slash = apiVersion.indexOf('/');
  const [group, version] = slash < 0 ? ['', apiVersion] : [apiVersion.slice(0, slash), apiVersion.slice(slash + 1)];
  const holding = states.filter(state => vertex[state]).join(',');
  const label = [
    `uid=${uid}`,
    `namespace=${namespace}`,
    `${[kind, version, ...(group ? [group] : [])].join('.')}/${name}`,
    ...(holding ? [holding] : []),
    '',
  ].join('\n');
  const {missingFromGraph: missing, beingDeleted, deletingDependents, virtual} = vertex;
  const values = {label, group, version, kind, namespace, name, uid, missing, beingDeleted, deletingDependents, virtual};
  return Object.entries(values).map(([key, value]) => `${key}=${quoted(value)}`);
};

/** Returns the nodes connected to the objects with these uids. */
const connectedTo = (graph: Graph, uids: readonly string[]): Node[] => {
  const found = new Map<string, Node>();
  const toVisit = [...uids];
  for (let uid = toVisit.pop(); uid !== undefined; uid = toVisit.pop()) {
    const node = graph.get(uid);
    if (!node || found.has(uid)) continue;
    found.set(uid, node);
    for (const owner of node.owners) toVisit.push(owner.uid);
    for (const {identity} of node.dependents) toVisit.push(identity.uid);
  }
  return [...found.values()];
};

/** Formats the nodes and owner references for Graphviz. Objects without owners and dependents are left out. */
const dotOf = (nodes: Iterable<Node>): string => {
  const vertices = new Map<string, Vertex>();
  const add = (vertex: Omit<Vertex, 'id'>): Vertex => {
    const added = {...vertex, id: vertices.size};
    vertices.set(vertex.identity.uid, added);
    return added;
  };
  const connected = [...nodes].filter(({owners, dependents}) => owners.length > 0 || dependents.size > 0);
  for (const {identity, beingDeleted, deletingDependents, virtual} of connected)
    add({identity, beingDeleted, deletingDependents, virtual, missingFromGraph: false});
  const unknown = {beingDeleted: false, deletingDependents: false, virtual: false, missingFromGraph: true};
  const edges = connected.flatMap(({identity, owners}) =>
    owners.map(
      owner =>
        `${vertices.get(identity.uid)!.id} -> ${(vertices.get(owner.uid) ?? add({identity: identityOf(owner, ''), ...unknown})).id};`,
    ),
  );
  const shown = [...vertices.values()].map(vertex =>
    [`${vertex.id} [`, ...attributesOf(vertex).map(text => `  ${text}`), '];'].map(line => `  ${line}`).join('\n'),
  );
  return [
    'strict digraph full {',
    '  // Node definitions.',
    ...shown,
    '',
    '  // Edge definitions.',
    ...edges.map(edge => `  ${edge}`),
    '}',
  ].join('\n');
};

/** `/graph`: the whole graph, or the part connected to the objects named by `?uid=`. */
export const graphPage = (graph: Graph, path: string, query: URLSearchParams): DebugPage | undefined => {
  if (path !== '/graph') return undefined;
  const uids = query.getAll('uid');
  return {contentType: 'text/vnd.graphviz', body: dotOf(uids.length > 0 ? connectedTo(graph, uids) : graph.nodes)};
};
