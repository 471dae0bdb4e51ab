import type {AnyObject} from '#page/api/objects.js';

export interface ContainerOf {
  readonly name: string;
  readonly ports: readonly {readonly name?: string; readonly containerPort: number; readonly protocol?: string}[];
}

/** Returns the containers of a pod, those of its start last. */
export const containersOf = ({spec}: AnyObject): readonly ContainerOf[] =>
  ['containers', 'ephemeralContainers', 'initContainers'].flatMap(field =>
    ((spec?.[field] ?? []) as readonly {name: string; ports?: ContainerOf['ports']}[]).map(({name, ports = []}) => ({name, ports})),
  );

export const podPath = ({metadata: {namespace = '', name}}: AnyObject, subresource: string): string =>
  `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}/${subresource}`;
