import type {FieldError} from '#src/api/field-error.js';
import {notSupported, required} from '#src/api/field-error.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Binding, Pod} from '#src/api/pod.js';
import {badRequest, conflict, plainFailure, success} from '#src/api/status.js';
import type {Action, ActionContext} from '#src/resources/definition.js';
import {setPodCondition} from './conditions.js';

function* problems({target}: Readonly<Binding>): Iterable<FieldError> {
  if (target?.kind && target.kind !== 'Node') yield notSupported('target.kind', target.kind, ['Node', '<empty>']);
  if (!target?.name) yield required('target.name');
}

/** Throws for an invalid binding; the error has no reason, as in the original. */
const check = (binding: Readonly<Binding>): void => {
  const texts = [...problems(binding)].map(({path, detail}) => `${path}: ${detail}`);
  if (texts.length === 0) return;
  throw plainFailure(texts.length === 1 ? texts[0]! : `[${texts.join(', ')}]`);
};

const refusal = (name: string, {metadata, spec}: Readonly<Pod>): string | undefined => {
  if (metadata?.deletionTimestamp) return `pod ${name} is being deleted, cannot be assigned to a host`;
  if (spec?.nodeName) return `pod ${name} is already assigned to node ${JSON.stringify(spec.nodeName)}`;
  return spec?.schedulingGates?.length ? `pod ${name} has non-empty .spec.schedulingGates` : undefined;
};

/** Assigns a pod to a node, with the binding's annotations and labels. */
const bind = (pod: Pod, {metadata, target}: Readonly<Binding>, context: ActionContext): void => {
  const meta = (pod.metadata ??= {});
  pod.spec!.nodeName = target.name!;
  if (metadata?.annotations) meta.annotations = {...meta.annotations, ...metadata.annotations};
  if (metadata?.labels && context.gate('PodTopologyLabelsAdmission')) meta.labels = {...meta.labels, ...metadata.labels};
  if (context.gate('ClearingNominatedNodeNameAfterBinding')) delete pod.status?.nominatedNodeName;
  setPodCondition(pod, {type: 'PodScheduled', status: 'True'}, context);
};

/** Assigns a pod to a node, once: for `pods/binding` and the older `bindings`. */
export const bindingAction: Action<Binding> = {
  kind: kinds.bindings,
  async run(binding, context) {
    const name = binding.metadata?.name ?? '';
    if (context.name && name !== context.name) throw badRequest('name in URL does not match name in Binding object');
    check(binding);
    await context.writer.change(
      kinds.pods,
      context.namespace,
      name,
      pod => {
        const reason = refusal(name, pod);
        if (reason) throw conflict({group: '', resource: 'pods/binding'}, name, reason);
        bind(pod, binding, context);
      },
      binding.metadata,
    );
    return {...success(), code: 201};
  },
};
