/** How much a finding matters: what is refused or lost; what is probably not meant; what was not looked at. */
export type Level = 'error' | 'warning' | 'note';

/** The rules by their names, which stay as they are, with what they find. */
export const rules = {
  syntax: {level: 'error', about: 'The file is no YAML or JSON, or does not hold an object with apiVersion, kind and name.'},
  'repeated-field': {level: 'error', about: 'A field is there twice; the last one would count.'},
  'repeated-object': {level: 'error', about: 'The same object is in the files twice; the last one would count.'},
  'unknown-kind': {level: 'error', about: 'The cluster does not serve the kind, and no definition in the files does.'},
  'unknown-field': {level: 'error', about: 'The kind has no such field; it would be dropped or refused.'},
  invalid: {level: 'error', about: 'A field has a value that the rules of the kind refuse.'},
  refused: {level: 'error', about: 'The server refuses the object for another reason.'},
  policy: {level: 'error', about: 'An admission policy of the cluster refuses the object.'},
  webhook: {level: 'error', about: 'An admission webhook of the cluster refuses the object, or cannot be called.'},
  'pod-security': {level: 'error', about: 'The Pod Security level of the namespace does not admit the pods.'},
  quota: {level: 'error', about: 'The objects of the files together do not fit into a resource quota, or lack what it requires.'},
  namespace: {level: 'error', about: 'The namespace is neither in the cluster nor in the files.'},
  rights: {level: 'error', about: 'The user may not write the object.'},
  conflict: {level: 'warning', about: 'Another field manager set the field to another value.'},
  'server-warning': {level: 'warning', about: 'The server warns about the object, for example of a deprecated version.'},
  'definition-version': {level: 'error', about: 'A definition no longer serves a version that clients use.'},
  'definition-immutable': {
    level: 'error',
    about: 'A definition changes what cannot change: its scope, its kind, or versions with stored objects.',
  },
  'definition-narrowed': {level: 'warning', about: 'A definition refuses or drops what it accepted before.'},
  'definition-default': {level: 'warning', about: 'A definition has another default; stored objects may keep the old one.'},
  'stored-invalid': {level: 'error', about: 'A stored object is invalid by the new definition, so that no update of it is accepted.'},
  'stored-pruned': {level: 'error', about: 'A stored object loses a field by the new definition.'},
  'stored-defaulted': {level: 'warning', about: 'A stored object gets a default of the new definition.'},
  'stored-ratcheted': {
    level: 'warning',
    about: 'A stored object is invalid by the new definition, and lives only as long as its invalid parts are unchanged.',
  },
  'not-checked': {level: 'note', about: 'What could not be looked at, and why.'},
} as const satisfies Readonly<Record<string, {readonly level: Level; readonly about: string}>>;

/** The name of a rule. */
export type Rule = keyof typeof rules;
