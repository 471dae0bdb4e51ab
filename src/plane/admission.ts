import type {Naming} from '#src/api/naming.js';
import {kinds} from '#src/api/kinds.js';
import type {Namespace} from '#src/api/types.js';
import type {Log} from '#src/base/log.js';
import type {AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {createPlugins} from '#src/apiserver/admission/plugins.js';
import type {FindNamespace} from '#src/apiserver/admission/namespace-lifecycle.js';
import {escalationCheck} from '#src/apiserver/authorization/escalation.js';
import {objectOf} from '#src/apiserver/registry/read.js';
import type {Registry} from '#src/apiserver/registry/registry.js';
import type {ApiserverOptions} from '#src/options/apiserver.js';
import type {Judges} from './authorization.js';

export interface AdmissionParts {
  readonly registry: Registry;
  readonly naming: Naming;
  readonly judges: Judges;
  readonly log: Log;
  gate(name: string): boolean;
}

/** Namespaces as the store has them now: where it answers at once, so does this. */
const findNamespace = (registry: Registry): FindNamespace => {
  const resource = registry.of(kinds.namespaces);
  const {store} = registry.settings;
  return name => {
    const record = store.get(resource.key('', name));
    if (record instanceof Promise) return record.then(found => found && (objectOf(resource, found) as Namespace));
    return record && (objectOf(resource, record) as Namespace);
  };
};

/** The plugins of a server in the order they are asked: those that are on by default or asked for, less those switched off. */
export const admissionPlugins = (
  {enableAdmissionPlugins, disableAdmissionPlugins, admissionControl}: Pick<ApiserverOptions, 'enableAdmissionPlugins' | 'disableAdmissionPlugins' | 'admissionControl'>,
  {registry, naming, judges, log, gate}: AdmissionParts,
): AdmissionPlugin[] => {
  const {authorizer, rbac} = judges;
  const {plugins, withoutSubject} = createPlugins(
    {enable: enableAdmissionPlugins, disable: disableAdmissionPlugins, exactly: admissionControl},
    {naming, authorizer, findNamespace: findNamespace(registry), gate},
  );
  for (const plugin of withoutSubject) log.warn({plugin}, 'an admission plugin has no effect: what it governs is not part of this build yet');
  return rbac ? [...plugins, escalationCheck({naming, rbac, authorizer})] : [...plugins];
};
