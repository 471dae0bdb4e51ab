// Validation of a container's environment: variables and the sources they come from.

import {invalid, notFoundValue, required, type FieldError} from '#src/api/field-error.js';
import type {EnvFromSource, EnvVar, PodSpec} from '#src/api/pod.js';
import {everyContainer} from './every-container.js';
import {dataKeyProblems, subdomainName} from '#src/resources/validation/names.js';
import {validateNoBacksteps} from '#src/resources/validation/paths.js';
import {dnsLabel, each, environmentNameProblems} from '#src/resources/validation/values.js';
import {environmentFields, validateFieldRef, validateResourceFieldRef} from './references.js';
import type {ContainerRules} from './rules.js';

type KeyRef = {readonly name?: string; readonly key: string};
type Source = NonNullable<EnvVar['valueFrom']>;

function* keyRef({name = '', key}: KeyRef, path: string): Iterable<FieldError> {
  yield* each(`${path}.name`, name, subdomainName(name, false));
  if (!key) yield required(`${path}.key`);
  else yield* each(`${path}.key`, key, dataKeyProblems(key));
}

function* fileKeyRef({key, path: file, volumeName}: NonNullable<Source['fileKeyRef']>, path: string): Iterable<FieldError> {
  if (!key) yield required(`${path}.key`);
  else yield* each(`${path}.key`, key, environmentNameProblems(key));
  if (!volumeName) yield required(`${path}.volumeName`);
  else yield* dnsLabel(`${path}.volumeName`, volumeName);
  if (!file) yield required(`${path}.path`);
  else yield* validateNoBacksteps(`${path}.path`, file);
}

/** Validates that environment files are in emptyDir volumes of the pod. */
export function* validateFileVolumes(spec: PodSpec, path: string): Iterable<FieldError> {
  const volumes = new Map((spec.volumes ?? []).map(volume => [volume.name, volume]));
  for (const {container, path: at} of everyContainer(spec, path)) {
    for (const [i, {valueFrom}] of (container.env ?? []).entries()) {
      if (!valueFrom?.fileKeyRef) continue;
      const where = `${at}.env[${i}].valueFrom.fileKeyRef.volumeName`;
      const {volumeName} = valueFrom.fileKeyRef;
      const volume = volumes.get(volumeName);
      if (!volume) yield notFoundValue(where, volumeName);
      else if (!volume.emptyDir) yield invalid(where, volumeName, 'referenced volume must be of type emptyDir');
    }
  }
}

const sourcesText = (files: boolean): string =>
  files
    ? 'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`'
    : 'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`';

function* valueFrom(source: Source, value: string | undefined, path: string, rules: ContainerRules): Iterable<FieldError> {
  const {fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef: file} = source;
  if (fieldRef) yield* validateFieldRef(fieldRef, environmentFields, `${path}.fieldRef`);
  if (resourceFieldRef) yield* validateResourceFieldRef(resourceFieldRef, `${path}.resourceFieldRef`, false);
  if (configMapKeyRef) yield* keyRef(configMapKeyRef, `${path}.configMapKeyRef`);
  if (secretKeyRef) yield* keyRef(secretKeyRef, `${path}.secretKeyRef`);
  if (file) yield* fileKeyRef(file, `${path}.fileKeyRef`);
  const count = [fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, file].filter(Boolean).length;
  if (count === 0) yield invalid(path, '', sourcesText(rules.allow.envFiles));
  else if (value) yield invalid(path, '', 'may not be specified when `value` is not empty');
  else if (count > 1) yield invalid(path, '', 'may not have more than one field specified at a time');
}

export function* validateEnv(variables: readonly EnvVar[], path: string, rules: ContainerRules): Iterable<FieldError> {
  for (const [i, {name, value, valueFrom: source}] of variables.entries()) {
    const at = `${path}[${i}]`;
    if (!name) yield required(`${at}.name`);
    else yield* each(`${at}.name`, name, environmentNameProblems(name));
    if (source) yield* valueFrom(source, value, `${at}.valueFrom`, rules);
  }
}

function* namedSource(name: string | undefined, path: string): Iterable<FieldError> {
  if (!name) yield required(`${path}.name`);
  else yield* each(`${path}.name`, name, subdomainName(name, true));
}

export function* validateEnvFrom(sources: readonly EnvFromSource[], path: string): Iterable<FieldError> {
  for (const [i, {prefix, configMapRef, secretRef}] of sources.entries()) {
    const at = `${path}[${i}]`;
    if (prefix) yield* each(`${at}.prefix`, prefix, environmentNameProblems(prefix));
    if (configMapRef) yield* namedSource(configMapRef.name, `${at}.configMapRef`);
    if (secretRef) yield* namedSource(secretRef.name, `${at}.secretRef`);
    if (!configMapRef && !secretRef) yield invalid(path, '', 'must specify one of: `configMapRef` or `secretRef`');
    else if (configMapRef && secretRef) yield invalid(path, '', 'may not have more than one field specified at a time');
  }
}
