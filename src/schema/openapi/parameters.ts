/** A parameter of an operation. */
export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly type: 'string' | 'integer' | 'boolean';
  readonly description: string;
}

const query = (name: string, type: Parameter['type'], description: string): Parameter => ({name, in: 'query', type, description});

export const pretty = query('pretty', 'string', "If 'true', the output is indented for people to read.");
const dryRun = query('dryRun', 'string', 'With the value All everything but the storing is done.');
const fieldManager = query(
  'fieldManager',
  'string',
  'The name of the client that makes the change, which is recorded as the manager of the fields it sets.',
);
const fieldValidation = query('fieldValidation', 'string', 'What becomes of unknown and repeated fields: Ignore, Warn or Strict.');

/** The parameters of writes with a body. */
export const writeParameters: readonly Parameter[] = [dryRun, fieldManager, fieldValidation];
export const patchParameters: readonly Parameter[] = [
  ...writeParameters,
  query('force', 'boolean', 'Takes conflicting fields over from their owners. For apply patches only.'),
];

/** The parameters of reads of one custom object. */
export const getParameters: readonly Parameter[] = [query('resourceVersion', 'string', 'How fresh or how old what is answered must be.')];

export const deleteParameters: readonly Parameter[] = [
  dryRun,
  query('gracePeriodSeconds', 'integer', 'Seconds before the object is deleted; zero means at once.'),
  query('ignoreStoreReadErrorWithClusterBreakingPotential', 'boolean', 'Deletes an object that can no longer be read from the store.'),
  query('orphanDependents', 'boolean', 'Deprecated: use propagationPolicy.'),
  query('propagationPolicy', 'string', 'What becomes of dependents: Orphan, Background or Foreground.'),
];

const selection: readonly Parameter[] = [
  query('continue', 'string', 'Where to go on, from the list answered before.'),
  query('fieldSelector', 'string', 'Restricts the objects by their fields.'),
  query('labelSelector', 'string', 'Restricts the objects by their labels.'),
  query('limit', 'integer', 'The most objects to answer with at once.'),
  query('resourceVersion', 'string', 'How fresh or how old what is answered must be.'),
  query('resourceVersionMatch', 'string', 'How resourceVersion is meant.'),
  query('sendInitialEvents', 'boolean', 'Begins a watch with the objects there are.'),
  query('timeoutSeconds', 'integer', 'How long the call may last.'),
];

export const listParameters: readonly Parameter[] = [
  query('allowWatchBookmarks', 'boolean', 'Whether the watch may contain bookmarks.'),
  ...selection,
  query('watch', 'boolean', 'Streams changes instead of answering with a list.'),
];

export const deleteCollectionParameters: readonly Parameter[] = [...deleteParameters, ...selection];

/** Returns the query parameters of a connect subresource. */
export const connectParameters = (options: readonly Omit<Parameter, 'in'>[]): Parameter[] =>
  options.map(({name, type, description}) => query(name, type, description));

export const pathParameter: Parameter = {name: 'path', in: 'path', type: 'string', description: 'The path that is called.'};
export const nameParameter: Parameter = {name: 'name', in: 'path', type: 'string', description: 'The name of the object.'};
export const namespaceParameter: Parameter = {name: 'namespace', in: 'path', type: 'string', description: 'The namespace of the object.'};

/** Returns the parameters in the order of documents. */
export const sortedParameters = (parameters: readonly Parameter[]): Parameter[] =>
  [...parameters].sort((a, b) => (a.name === b.name ? (a.in < b.in ? -1 : 1) : a.name < b.name ? -1 : 1));
