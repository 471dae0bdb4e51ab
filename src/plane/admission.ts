import type {Naming} from '#src/api/naming.js';
import type {AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {escalationCheck} from '#src/apiserver/authorization/escalation.js';
import type {Registry} from '#src/apiserver/registry/registry.js';
import type {ApiserverOptions} from '#src/options/apiserver.js';
import type {Judges} from './authorization.js';

export interface AdmissionParts {
  readonly registry: Registry;
  readonly naming: Naming;
  readonly judges: Judges;
  gate(name: string): boolean;
}

/** The plugins of a server in the order they are asked: those that are on by default or asked for, less those switched off. */
export const admissionPlugins = (_options: Pick<ApiserverOptions, 'enableAdmissionPlugins' | 'disableAdmissionPlugins'>, {naming, judges}: AdmissionParts): AdmissionPlugin[] =>
  judges.rbac ? [escalationCheck({naming, rbac: judges.rbac, authorizer: judges.authorizer})] : [];
