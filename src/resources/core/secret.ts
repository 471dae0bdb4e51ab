import {invalid, required, type FieldError} from '#src/api/field-error.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Secret} from '#src/api/types.js';
import {PkiError} from '#src/pki/encoding/error.js';
import {parseKeyPair} from '#src/pki/key-pair.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource, type HookContext} from '#src/resources/definition.js';
import {immutable} from '#src/resources/validation/equality.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {jsonSyntaxProblem} from '#src/schema/decode/json-syntax.js';
import {decodedSize, validateKeys, validateImmutable, validateSize} from './data.js';

const opaque = 'Opaque';

type TypeRule = (secret: Readonly<Secret>, naming: Naming) => Iterable<FieldError>;

const keys = (...names: readonly string[]): TypeRule =>
  function* ({data = {}}) {
    for (const name of names) if (!Object.hasOwn(data, name)) yield required(`data[${name}]`);
  };

const objectProblem = (text: string): string | undefined => {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === 'object' && !Array.isArray(parsed)) return undefined;
    const type = Array.isArray(parsed) ? 'array' : typeof parsed === 'boolean' ? 'bool' : typeof parsed;
    return `json: cannot unmarshal ${type} into Go value of type map[string]interface {}`;
  } catch {
    return jsonSyntaxProblem(text);
  }
};

/** Returns a rule that requires a key whose value is a JSON object. */
const jsonKey = (name: string): TypeRule =>
  function* ({data = {}}) {
    const value = data[name];
    if (value === undefined) return yield required(`data[${name}]`);
    const problem = objectProblem(Buffer.from(value ?? '', 'base64').toString());
    if (problem !== undefined) yield invalid(`data[${name}]`, '<secret contents redacted>', problem);
  };

/** The required data of secrets by type, without the type's domain. */
const rules: ReadonlyMap<string, TypeRule> = new Map(
  Object.entries<TypeRule>({
    *'service-account-token'({metadata}, naming) {
      const annotation = naming.key('service-account.name');
      if (!metadata?.annotations?.[annotation]) yield required(`metadata.annotations[${annotation}]`);
    },
    dockercfg: jsonKey('.dockercfg'),
    dockerconfigjson: jsonKey('.dockerconfigjson'),
    *'basic-auth'({data = {}}) {
      if (Object.hasOwn(data, 'username') || Object.hasOwn(data, 'password')) return;
      yield required('data[username]');
      yield required('data[password]');
    },
    *'ssh-auth'({data = {}}) {
      if (!data['ssh-privatekey']) yield required('data[ssh-privatekey]');
    },
    tls: keys('tls.crt', 'tls.key'),
  }),
);

function* validate(secret: Readonly<Secret>, old: Readonly<Secret> | undefined, {naming}: HookContext): Iterable<FieldError> {
  if (old) {
    yield* immutable('type', secret.type, old.type);
    yield* validateImmutable(secret, old, ['data']);
  }
  yield* validateKeys(secret.data, 'data');
  yield* validateSize(decodedSize(secret.data), 'data');
  const known = naming.key('');
  if (secret.type?.startsWith(known)) yield* rules.get(secret.type.slice(known.length))?.(secret, naming) ?? [];
}

/** Warns about a certificate and key that do not match; a server would fail to start with them. */
function* warnAboutPair({type, data = {}}: Readonly<Secret>, _old: unknown, {naming}: HookContext): Iterable<string> {
  if (type !== naming.key('tls')) return;
  const bytes = (name: string): Buffer => Buffer.from(data[name] ?? '', 'base64');
  try {
    parseKeyPair(bytes('tls.crt'), bytes('tls.key'));
  } catch (error) {
    if (error instanceof PkiError) yield error.message;
  }
}

// An applier owns `stringData`, although it is stored as data.
const writable = ['metadata', 'data', 'stringData', 'immutable', 'type'];

/** Secret: confidential data as bytes by name, 1 MiB in all. Its type is immutable. */
export const secrets = defineResource<Secret>({
  kind: kinds.secrets,
  metadata: {nameProblems: subdomainName},
  default(secret) {
    secret.type ||= opaque;
    if (!secret.stringData) return;
    // `stringData` is write-only: its texts replace data of the same name and are never shown.
    const texts = Object.entries(secret.stringData).map(([key, text]): [string, string] => [key, Buffer.from(text).toString('base64')]);
    secret.data = Object.fromEntries([...Object.entries(secret.data ?? {}), ...texts]);
    delete secret.stringData;
  },
  main: {metadata: 'both', writes: {create: writable, update: writable}, validate, warn: warnAboutPair},
  selection: {fields: {type: secret => secret.type ?? ''}},
  presentation: {
    columns: [
      nameColumn,
      {
        name: 'Type',
        description: 'What kind of data the secret holds, for programs that treat some kinds alike.',
        of: secret => secret.type ?? '',
      },
      {name: 'Data', description: 'How many entries the object holds.', of: secret => Object.keys(secret.data ?? {}).length},
      ageColumn,
    ],
  },
});
