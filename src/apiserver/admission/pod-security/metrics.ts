import {noMeter, type Counter, type Labels, type Meter} from '#src/base/meter.js';
import type {AdmissionAttributes} from '#src/apiserver/admission/admission.js';
import type {LevelVersion, Mode} from './policy.js';

type Subject = Pick<AdmissionAttributes, 'operation' | 'resource' | 'subresource'>;

/** The metrics of pod security, with the original's names and labels. */
export class PodSecurityMetrics {
  readonly #evaluations: Counter;
  readonly #exemptions: Counter;
  readonly #minor: number;
  readonly #series = new Map<string, ReturnType<Counter['at']>>();

  /** `minor` is the minor version of the server: a later one of a policy is `future`. */
  constructor(meter: Meter = noMeter, minor = Infinity) {
    this.#minor = minor;
    this.#evaluations = meter.counter({
      name: 'pod_security_evaluations_total',
      help: 'Number of policy evaluations that occurred, not counting ignored or exempt requests.',
      labels: ['decision', 'policy_level', 'policy_version', 'mode', 'request_operation', 'resource', 'subresource'],
    });
    this.#exemptions = meter.counter({
      name: 'pod_security_exemptions_total',
      help: 'Number of exempt requests, not counting ignored or out of scope requests.',
      labels: ['request_operation', 'resource', 'subresource'],
    });
    for (const operation of ['CREATE', 'UPDATE'] as const) {
      const pod: Subject = {operation, resource: 'pods', subresource: ''};
      this.#evaluation('allow', {level: 'privileged', minor: Infinity}, 'enforce', pod).add(0);
      for (const resource of ['pods', 'deployments']) this.#exemptions.add(subjectLabels({operation, resource, subresource: ''}), 0);
    }
  }

  /** Counts a pod or template that was compared with a level. */
  evaluated(decision: 'allow' | 'deny', policy: LevelVersion, mode: Mode, subject: Subject): void {
    this.#evaluation(decision, policy, mode, subject).add();
  }

  exempt(subject: Subject): void {
    this.#exemptions.add(subjectLabels(subject));
  }

  #evaluation(decision: string, {level, minor}: LevelVersion, mode: Mode, subject: Subject): ReturnType<Counter['at']> {
    const {operation, resource, subresource} = subject;
    const key = `${decision}/${level}/${minor}/${mode}/${operation}/${resource}/${subresource}`;
    let series = this.#series.get(key);
    if (series) return series;
    const version = minor === Infinity || level === 'privileged' ? 'latest' : minor > this.#minor ? 'future' : `v1.${minor}`;
    series = this.#evaluations.at({decision, policy_level: level, policy_version: version, mode, ...subjectLabels(subject)});
    // Users choose versions in labels of namespaces.
    if (this.#series.size < maxSeries) this.#series.set(key, series);
    return series;
  }
}

const maxSeries = 500;

/** Resources other than pods and namespaces are those of controllers. */
const subjectLabels = ({operation, resource, subresource}: Subject): Labels => ({
  request_operation: operation.toLowerCase(),
  resource: resource === 'pods' ? 'pod' : resource === 'namespaces' ? 'namespace' : 'controller',
  subresource,
});
