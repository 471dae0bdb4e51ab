// The policy file of mode ABAC: one policy in JSON or YAML per line, in version v1beta1 or in v0, which has neither
// version nor kind.

import type {Naming} from '#src/api/naming.js';
import {wellKnown} from '#src/api/user.js';
import {record, text, type Fields} from '#src/apiserver/configuration/fields.js';
import {decodeValue} from '#src/schema/decode/decode.js';
import {parseBody, type ParsedBody} from '#src/schema/decode/document.js';

/** What one line allows. Absent fields are empty and match only what is empty. */
export interface AbacPolicy {
  readonly user: string;
  readonly group: string;
  readonly readonly: boolean;
  readonly apiGroup: string;
  readonly resource: string;
  readonly namespace: string;
  readonly nonResourcePath: string;
}

const flag = {type: 'boolean'} as const;
const oldFields: Fields = {user: text, group: text, readonly: flag, resource: text, namespace: text};
const fields: Fields = {...oldFields, apiGroup: text, nonResourcePath: text};

const named = (node: Fields, name: string) => ({...record(node), ref: {group: 'abac', version: 'v1beta1', name}});
const policyFields = named({kind: text, apiVersion: text, spec: named(fields, 'PolicySpec')}, 'Policy');
const oldPolicyFields = named({kind: text, apiVersion: text, ...oldFields}, 'Policy');

const empty: AbacPolicy = {user: '', group: '', readonly: false, apiGroup: '', resource: '', namespace: '', nonResourcePath: ''};

/** The longest line, in bytes. */
const maxLine = 64 * 1024 - 1;

/** The policies of a file, and whether some have no version. */
export interface AbacPolicies {
  readonly policies: readonly AbacPolicy[];
  readonly isUnversioned: boolean;
}

/** Reads a policy file. Throws an error that shows a wrong line and its number. */
export const readPolicies = (path: string, content: string, naming: Naming): AbacPolicies => {
  const policies: AbacPolicy[] = [];
  let isUnversioned = false;
  for (const [index, line] of content.split(/\r?\n/).entries()) {
    const trimmed = line.trim();
    if (trimmed === '' || trimmed.startsWith('#')) continue;
    if (Buffer.byteLength(line) > maxLine) throw new Error(`error reading policy file ${path}: bufio.Scanner: token too long`);
    try {
      const body = parseBody(line, trimmed.startsWith('{') ? 'json' : 'yaml');
      const {policy, isOld} = policyOf(body, naming);
      isUnversioned ||= isOld;
      policies.push(policy);
    } catch (cause) {
      throw new Error(`error reading policy file ${path}, line ${index + 1}: ${line}: ${(cause as Error).message}`, {cause});
    }
  }
  return {policies, isUnversioned};
};

const policyOf = ({value, apiVersion, kind}: ParsedBody, naming: Naming): {readonly policy: AbacPolicy; readonly isOld: boolean} => {
  const version = (name: string) => naming.subKey('abac.authorization', name);
  const isNamed = apiVersion !== '' && kind !== '';
  if (isNamed && (kind !== 'Policy' || (apiVersion !== version('v1beta1') && apiVersion !== version('v0'))))
    throw new Error(`no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)}`);
  if (isNamed && apiVersion === version('v1beta1')) {
    const {spec} = decodeValue<{spec?: Partial<AbacPolicy>}>(value, policyFields, 'Ignore').object;
    return {policy: forAuthenticated({...empty, ...spec}), isOld: false};
  }
  return {policy: converted(decodeValue<Partial<AbacPolicy>>(value, oldPolicyFields, 'Ignore').object), isOld: !isNamed};
};

/** A star matches every authenticated user. */
const forAuthenticated = (policy: AbacPolicy): AbacPolicy =>
  policy.user === '*' || policy.group === '*' ? {...policy, user: '', group: wellKnown.authenticated} : policy;

/** In version v0 an absent field matches everything. */
const converted = ({user = '', group = '', readonly = false, resource = '', namespace = ''}: Partial<AbacPolicy>): AbacPolicy =>
  forAuthenticated({
    user,
    group: user === '' && group === '' ? wellKnown.authenticated : group,
    readonly,
    apiGroup: '*',
    resource: resource || '*',
    namespace: namespace || '*',
    nonResourcePath: resource === '' && namespace === '' ? '*' : '',
  });
