import {forbiddenField, invalid, notSupported, required, type FieldError} from '#src/api/field-error.js';
import type {Container, HTTPGetAction, Lifecycle, LifecycleHandler, PodSpec, Probe} from '#src/api/pod.js';
import {each, headerNameProblems, nonnegative, portNumberOrName} from '#src/resources/validation/values.js';
import type {ContainerRules} from './rules.js';

type Handler = LifecycleHandler & Pick<Probe, 'grpc'>;

function* httpGet({path: target, port, scheme, httpHeaders = []}: HTTPGetAction, path: string): Iterable<FieldError> {
  if (!target) yield required(`${path}.path`);
  yield* portNumberOrName(`${path}.port`, port);
  if (scheme !== 'HTTP' && scheme !== 'HTTPS') yield notSupported(`${path}.scheme`, scheme ?? '', ['HTTP', 'HTTPS']);
  for (const {name} of httpHeaders) yield* each(`${path}.httpHeaders`, name, headerNameProblems(name));
}

function* sleep(seconds: number, path: string, grace: number | undefined): Iterable<FieldError> {
  if (grace === undefined || (seconds >= 0 && seconds <= grace)) return;
  yield invalid(path, seconds, `must be non-negative and less than terminationGracePeriodSeconds (${grace})`);
}

/** Validates that a handler has exactly one action. */
function* validateHandler(handler: Handler, path: string, {gracePeriod}: ContainerRules): Iterable<FieldError> {
  const checks: readonly (readonly [keyof Handler, (at: string) => Iterable<FieldError>])[] = [
    ['exec', at => (handler.exec?.command?.length ? [] : [required(`${at}.command`)])],
    ['httpGet', at => httpGet(handler.httpGet!, at)],
    ['tcpSocket', at => portNumberOrName(`${at}.port`, handler.tcpSocket!.port)],
    ['grpc', at => portNumberOrName(`${at}.port`, handler.grpc!.port)],
    ['sleep', at => sleep(handler.sleep!.seconds ?? 0, at, gracePeriod)],
  ];
  let found = false;
  for (const [name, check] of checks) {
    if (!handler[name]) continue;
    if (found) yield forbiddenField(`${path}.${name}`, 'may not specify more than 1 handler type');
    else yield* check(`${path}.${name}`);
    found = true;
  }
  if (!found) yield required(path, 'must specify a handler type');
}

function* validateProbe(probe: Probe, path: string, rules: ContainerRules): Iterable<FieldError> {
  const {exec, httpGet: get, tcpSocket, grpc} = probe;
  yield* validateHandler(
    {...(exec ? {exec} : {}), ...(get ? {httpGet: get} : {}), ...(tcpSocket ? {tcpSocket} : {}), ...(grpc ? {grpc} : {})},
    path,
    rules,
  );
  for (const field of ['initialDelaySeconds', 'timeoutSeconds', 'periodSeconds', 'successThreshold', 'failureThreshold'] as const) {
    yield* nonnegative(`${path}.${field}`, probe[field]);
  }
  const {terminationGracePeriodSeconds: grace} = probe;
  if (grace !== undefined && grace <= 0) yield invalid(`${path}.terminationGracePeriodSeconds`, grace, 'must be greater than 0');
}

function* onceSuccessful(probe: Probe | undefined, path: string, rules: ContainerRules): Iterable<FieldError> {
  if (!probe) return;
  yield* validateProbe(probe, path, rules);
  if (probe.successThreshold !== 1) yield invalid(`${path}.successThreshold`, probe.successThreshold ?? 0, 'must be 1');
}

function* readiness(probe: Probe | undefined, path: string, rules: ContainerRules): Iterable<FieldError> {
  if (!probe) return;
  yield* validateProbe(probe, path, rules);
  if (probe.terminationGracePeriodSeconds === undefined) return;
  yield invalid(`${path}.terminationGracePeriodSeconds`, probe.terminationGracePeriodSeconds, 'must not be set for readinessProbes');
}

/** The stop signals of each operating system, sorted (signal(7)). */
const signals: Readonly<Record<string, readonly string[]>> = {
  windows: ['SIGKILL', 'SIGTERM'],
  linux: [
    ...'ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP SYS TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ'.split(
      ' ',
    ),
    'RTMIN',
    'RTMAX',
    ...Array.from({length: 15}, (_, i) => `RTMIN+${i + 1}`),
    ...Array.from({length: 14}, (_, i) => `RTMAX-${i + 1}`),
  ]
    .map(name => `SIG${name}`)
    .sort(),
};

function* stopSignal(signal: string | undefined, path: string, os: PodSpec['os']): Iterable<FieldError> {
  if (signal === undefined) return;
  if (!os) return yield forbiddenField(path, 'may not be set for containers with empty `spec.os.name`');
  const known = signals[os.name];
  if (known && !known.includes(signal)) yield notSupported(path, signal, known);
}

function* validateLifecycle(
  {postStart, preStop, stopSignal: signal}: Lifecycle,
  path: string,
  rules: ContainerRules,
  os: PodSpec['os'],
): Iterable<FieldError> {
  if (postStart) yield* validateHandler(postStart, `${path}.postStart`, rules);
  if (preStop) yield* validateHandler(preStop, `${path}.preStop`, rules);
  yield* stopSignal(signal, `${path}.stopSignal`, os);
}

/** Validates hooks and probes, which only long-running containers have. */
export function* validateRunning(container: Container, path: string, rules: ContainerRules, os: PodSpec['os']): Iterable<FieldError> {
  if (container.lifecycle) yield* validateLifecycle(container.lifecycle, `${path}.lifecycle`, rules, os);
  yield* onceSuccessful(container.livenessProbe, `${path}.livenessProbe`, rules);
  yield* readiness(container.readinessProbe, `${path}.readinessProbe`, rules);
  yield* onceSuccessful(container.startupProbe, `${path}.startupProbe`, rules);
}
