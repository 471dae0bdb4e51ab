import type {Naming} from '#src/api/naming.js';
import type {Reader} from '#src/api/reader.js';
import type {Writer} from '#src/api/writer.js';
import type {Clock} from '#src/base/clock.js';
import {andThen} from '#src/base/eventually.js';
import {quotaEvaluators} from '#src/model/quota/evaluators.js';
import {isNamespace, type AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import type {LimitedResource} from '#src/apiserver/admission/configuration/resource-quota.js';
import {QuotaLedger} from './ledger.js';
import type {QuotaSource} from './quota-source.js';

interface Context {
  readonly naming: Naming;
  readonly reader: Reader;
  readonly quotas: QuotaSource;
  readonly change: Writer['change'];
  readonly clock: Clock;
  readonly limitedResources?: readonly LimitedResource[] | undefined;
  gate(name: string): boolean;
}

/** Charges created and updated objects to the quotas of their namespace, and refuses those that exceed them. */
export const resourceQuota = ({naming, reader, quotas, change, clock, gate, limitedResources = []}: Context): AdmissionPlugin => {
  const evaluators = quotaEvaluators(naming, gate);
  const ledger = new QuotaLedger(reader, change);
  return {
    name: 'ResourceQuota',
    handles: {operations: ['CREATE', 'UPDATE']},
    // Limited resources are refused where there is no quota.
    ...(limitedResources.length === 0 ? {rules: quotas} : {}),
    validate(attributes) {
      const {operation, group, resource, subresource, namespace, object} = attributes;
      if (!namespace || !object || isNamespace(attributes)) return undefined;
      const evaluator = evaluators.of(group, resource);
      if (!evaluator?.handles(operation, subresource)) return undefined;
      const limited = limitedResources.filter(each => each.resource === resource && (each.apiGroup ?? '') === group);
      const charge = () => ledger.charge({attributes: {...attributes, object}, evaluator, limited, now: clock.now()});
      if (limited.length > 0) return charge();
      return andThen(quotas.current(), known => (known.has(namespace) ? charge() : undefined));
    },
  };
};
