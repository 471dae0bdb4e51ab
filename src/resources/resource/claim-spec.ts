import type {Findings} from '#src/api/collect-errors.js';
import {invalid, invalidText, notSupported, required, type FieldError} from '#src/api/field-error.js';
import type {kinds, ObjectOf} from '#src/api/kinds/index.js';
import type {HookContext} from '#src/resources/definition.js';
import {dnsLabel} from '#src/resources/validation/values.js';
import {identity, list, set} from './collections.js';
import {maxConfigurations, validateConfiguration, type Configuration} from './configuration.js';
import {className, fullyQualifiedName} from './names.js';
import {maxSelectors, readyForSelectors, validateSelector, type SelectorRules} from './selectors.js';
import {validateToleration} from './taints.js';

// Defaults, gated fields and validation of device requests, shared by claims and claim templates. Selectors are CEL
// expressions; `readyForClaim` loads their compiler before validation.

export type ResourceClaim = ObjectOf<typeof kinds.resourceClaims>;
export type ClaimSpec = ResourceClaim['spec'];
type Devices = NonNullable<ClaimSpec['devices']>;
export type Request = NonNullable<Devices['requests']>[number];
type Constraint = NonNullable<Devices['constraints']>[number];
type DeviceRequest = NonNullable<Request['exactly']>;

export const maxRequests = 32;
const maxAlternatives = 8;

/** Returns all device requests of a claim, including alternatives. */
const deviceRequests = (spec: Readonly<ClaimSpec>): DeviceRequest[] =>
  (spec.devices?.requests ?? []).flatMap(({exactly, firstAvailable}) => [...(exactly ? [exactly] : []), ...(firstAvailable ?? [])]);

/** Loads the compiler if a claim has selectors. */
export const readyForClaim = (spec: Readonly<ClaimSpec> | undefined): Promise<void> | undefined =>
  readyForSelectors((spec ? deviceRequests(spec) : []).flatMap(({selectors}) => selectors ?? []));

/** Applies the defaults of a claim: one device per request, and `Equal` tolerations. */
export const defaultClaimSpec = (spec: ClaimSpec): void => {
  for (const request of deviceRequests(spec)) {
    request.allocationMode ||= 'ExactCount';
    if (request.allocationMode === 'ExactCount') request.count ||= 1;
    defaultTolerations(request.tolerations);
  }
};

/** Makes tolerations without an operator `Equal`, of requests and of what was allocated for them. */
export const defaultTolerations = (tolerations: DeviceRequest['tolerations']): void => {
  for (const toleration of tolerations ?? []) toleration.operator ||= 'Equal';
};

/** Returns the names of requests, and of alternatives as `request/alternative`. */
export const requestNames = (spec: Readonly<ClaimSpec> | undefined): ReadonlySet<string> =>
  new Set(
    (spec?.devices?.requests ?? []).flatMap(({name, firstAvailable}) => [
      name,
      ...(firstAvailable ?? []).map(alternative => `${name}/${alternative.name}`),
    ]),
  );

/** Returns the validation of a reference to a request or an alternative. */
export const requestReference = (known: ReadonlySet<string>) =>
  function* (name: string, path: string): Iterable<FieldError> {
    const unknown = invalid(
      path,
      name,
      "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'",
    );
    const parts = name.split('/');
    if (parts.length > 2) return yield unknown;
    for (const part of parts) yield* dnsLabel(path, part);
    if (!known.has(name)) yield unknown;
  };

function* validateDeviceRequest(request: Readonly<DeviceRequest>, path: string, rules: SelectorRules): Findings {
  const {allocationMode: mode = '', count = 0} = request;
  yield* className(`${path}.deviceClassName`, request.deviceClassName ?? '');
  yield* list(`${path}.selectors`, request.selectors, maxSelectors, (selector, at) => validateSelector(selector, at, rules));
  if (mode === 'All') {
    if (count !== 0) yield invalid(`${path}.count`, count, "must not be specified when allocationMode is 'All'");
  } else if (mode === 'ExactCount') {
    if (count <= 0) yield invalid(`${path}.count`, count, 'must be greater than zero');
  } else yield notSupported(`${path}.allocationMode`, mode, ['All', 'ExactCount']);
  for (const [i, toleration] of (request.tolerations ?? []).entries()) yield* validateToleration(toleration, `${path}.tolerations[${i}]`);
}

function* validateRequest({name, exactly, firstAvailable = []}: Readonly<Request>, path: string, rules: SelectorRules): Findings {
  yield* dnsLabel(`${path}.name`, name ?? '');
  const either = 'exactly one of `exactly` or `firstAvailable` is required';
  if (exactly && firstAvailable.length > 0) yield invalidText(path, 'null', `${either}, but multiple fields are set`);
  else if (exactly) yield* validateDeviceRequest(exactly, `${path}.exactly`, rules);
  else if (firstAvailable.length === 0) yield required(path, either);
  else {
    const alternative = function* (one: Readonly<(typeof firstAvailable)[number]>, at: string): Findings {
      yield* dnsLabel(`${at}.name`, one.name ?? '');
      yield* validateDeviceRequest(one, at, rules);
    };
    yield* set(`${path}.firstAvailable`, firstAvailable, maxAlternatives, alternative, one => one.name);
  }
}

/** Validates a new claim. */
export function* validateClaimSpec(spec: Readonly<ClaimSpec> | undefined, path: string, {gate}: HookContext): Findings {
  const {requests, constraints, config} = spec?.devices ?? {};
  const at = `${path}.devices`;
  const reference = requestReference(requestNames(spec));
  const references = (names: readonly string[] | undefined, where: string) =>
    set(`${where}.requests`, names, maxRequests, reference, identity);
  const rules = {sharesCapacity: gate('DRAConsumableCapacity')};
  yield* set(
    `${at}.requests`,
    requests,
    maxRequests,
    (request, where) => validateRequest(request, where, rules),
    ({name}) => name,
  );
  const constraint = function* (
    {requests: names, matchAttribute, distinctAttribute}: Readonly<Constraint>,
    where: string,
  ): Iterable<FieldError> {
    yield* references(names, where);
    if (matchAttribute !== undefined) yield* fullyQualifiedName(`${where}.matchAttribute`, matchAttribute);
    else if (distinctAttribute !== undefined) yield* fullyQualifiedName(`${where}.distinctAttribute`, distinctAttribute);
    else if (gate('DRAConsumableCapacity'))
      yield required(where, 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set');
    else yield required(`${where}.matchAttribute`);
  };
  yield* list(`${at}.constraints`, constraints, 32, constraint);
  const configuration = function* (one: Readonly<Configuration>, where: string): Iterable<FieldError> {
    yield* references(one.requests, where);
    yield* validateConfiguration(one, where);
  };
  yield* list(`${at}.config`, config as Configuration[] | undefined, maxConfigurations, configuration);
}

/** Drops fields whose gates are off, unless the stored claim has them. */
export const dropDisabledClaimFields = (spec: ClaimSpec, old: Readonly<ClaimSpec> | undefined, gate: HookContext['gate']): void => {
  const before = old?.devices?.requests ?? [];
  const requests = spec.devices?.requests ?? [];
  const tolerates = (old ? deviceRequests(old) : []).some(({tolerations = []}) => tolerations.length > 0);
  if (!gate('DRADeviceTaints') && !tolerates) for (const request of deviceRequests(spec)) delete request.tolerations;
  if (!gate('DRAPrioritizedList') && !before.some(({firstAvailable = []}) => firstAvailable.length > 0))
    for (const request of requests) delete request.firstAvailable;
  if (!gate('DRAAdminAccess') && !before.some(({exactly}) => exactly?.adminAccess !== undefined))
    for (const {exactly} of requests) delete exactly?.adminAccess;
  if (!gate('DRAConsumableCapacity') && !(old && usesCapacity(old))) {
    for (const constraint of spec.devices?.constraints ?? []) delete constraint.distinctAttribute;
    for (const request of deviceRequests(spec)) delete request.capacity;
  }
};

/** Reports whether a claim consumes capacity of devices. */
export const usesCapacity = (spec: Readonly<ClaimSpec>): boolean =>
  (spec.devices?.constraints ?? []).some(({distinctAttribute}) => distinctAttribute !== undefined) ||
  deviceRequests(spec).some(({capacity}) => capacity !== undefined);
