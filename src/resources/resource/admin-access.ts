import {forbiddenField, internalFieldError, invalidObject} from '#src/api/field-error.js';
import {kinds, type Kind} from '#src/api/kinds.js';
import type {KubeObject} from '#src/api/types.js';
import type {ResourceDefinition} from '#src/resources/definition.js';
import type {ClaimSpec} from './claim-spec.js';

const nothing = {commit: async () => {}, revert: async () => {}};

/** Lets only namespaces that are marked for it make claims on devices that are in use by others (KEP-5018). */
export const adminAccess =
  <T extends KubeObject>({kind}: Kind<T>, specOf: (object: Readonly<T>) => Readonly<ClaimSpec> | undefined): NonNullable<ResourceDefinition<T>['allocate']> =>
  async (object, old, {gate, naming, reader}) => {
    const index = (specOf(object)?.devices?.requests ?? []).findIndex(({exactly}) => exactly?.adminAccess === true);
    if (old || index < 0 || !gate('DRAAdminAccess')) return nothing;
    const path = `spec.devices.requests[${index}].adminAccess`;
    const {name = '', namespace = ''} = object.metadata ?? {};
    const label = naming.subKey('resource', 'admin-access');
    const found = await reader.get(kinds.namespaces, '', namespace);
    if (found?.metadata?.labels?.[label] === 'true') return nothing;
    const problem = found
      ? forbiddenField(path, `admin access to devices requires the \`${label}: true\` label on the containing namespace`)
      : internalFieldError(path, `could not retrieve namespace to verify admin access: namespaces ${JSON.stringify(namespace)} not found`);
    throw invalidObject({group: naming.group('resource'), kind}, name, [problem]);
  };
