import {forbiddenField, required, tooLong, type FieldError} from '#src/api/field-error.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {dnsLabelProblems, dnsSubdomainProblems, pathSegmentProblems} from '#src/api/names.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource} from '#src/resources/definition.js';
import {validateDomainPath} from '#src/resources/validation/domain-names.js';
import {immutable} from '#src/resources/validation/equality.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {each, oneOf} from '#src/resources/validation/values.js';

type IngressClass = ObjectOf<typeof kinds.ingressClasses>;
type Parameters = NonNullable<NonNullable<IngressClass['spec']>['parameters']>;

const longestController = 250;

/** Validates a reference to an object of any group, without its namespace. */
export function* validateLocalReference(
  {apiGroup, kind, name}: {readonly apiGroup?: string | null; readonly kind: string; readonly name: string},
  path: string,
): Iterable<FieldError> {
  if (typeof apiGroup === 'string') yield* each(`${path}.apiGroup`, apiGroup, dnsSubdomainProblems(apiGroup));
  for (const [field, text] of Object.entries({kind, name})) {
    if (text) yield* each(`${path}.${field}`, text, pathSegmentProblems(text));
    else yield required(`${path}.${field}`);
  }
}

function* validateParameters(parameters: Readonly<Parameters>): Iterable<FieldError> {
  const path = 'spec.parameters';
  const {scope, namespace} = parameters;
  yield* validateLocalReference(parameters, path);
  if (scope === undefined) return yield required(`${path}.scope`);
  yield* oneOf(`${path}.scope`, scope, ['Cluster', 'Namespace']);
  if (scope === 'Namespace') {
    if (namespace === undefined) yield required(`${path}.namespace`, "`parameters.scope` is set to 'Namespace'");
    else yield* each(`${path}.namespace`, namespace, dnsLabelProblems(namespace));
  }
  if (scope === 'Cluster' && namespace !== undefined) yield forbiddenField(`${path}.namespace`, "`parameters.scope` is set to 'Cluster'");
}

function* validate({spec = {}}: Readonly<IngressClass>, old: Readonly<IngressClass> | undefined): Iterable<FieldError> {
  const path = 'spec.controller';
  const {controller = '', parameters} = spec;
  if (old) yield* immutable(path, controller, old.spec?.controller ?? '');
  if (Buffer.byteLength(controller) > longestController) yield tooLong(path, longestController);
  yield* validateDomainPath(path, controller);
  if (parameters) yield* validateParameters(parameters);
}

const parametersText = ({spec}: Readonly<IngressClass>): string => {
  const {parameters} = spec ?? {};
  if (!parameters) return '<none>';
  const {kind, apiGroup, name} = parameters;
  return `${apiGroup === undefined ? kind : `${kind}.${apiGroup}`}/${name}`;
};

/** IngressClass: the controller of the ingresses that name the class, with its parameters. */
export const ingressClasses = defineResource<IngressClass>({
  kind: kinds.ingressClasses,
  storage: {alwaysPresent: {spec: {}}},
  metadata: {nameProblems: subdomainName, generation: true},
  default({spec}) {
    if (spec?.parameters) spec.parameters.scope ??= 'Cluster';
  },
  main: {metadata: 'both', writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']}, validate},
  presentation: {
    columns: [
      nameColumn,
      {name: 'Controller', description: 'The controller that handles ingresses of the class.', of: ({spec}) => spec?.controller ?? ''},
      {name: 'Parameters', description: 'The object that sets the controller up.', of: parametersText},
      ageColumn,
    ],
  },
});
