import {capitalised} from './names.js';
import type {DescribedAddress, DescribedConnect} from './description.js';
import type {Operation, Path, ResourceLocation} from './operation.js';
import {nameParameter, namespaceParameter, connectParameters, pathParameter, pretty} from './parameters.js';

const streamMethods = ['get', 'post'] as const;
const callMethods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'] as const;

const connects = (
  {groupVersionName, scope, resource, tag}: ResourceLocation,
  {name, kind}: DescribedAddress,
  methods: readonly Operation['method'][],
  suffix = '',
): Operation[] =>
  methods.map(method => ({
    method,
    id: `connect${groupVersionName}${capitalised(method)}${scope}${resource.kind.kind}${capitalised(name)}${suffix}`,
    description: `connect ${method.toUpperCase()} requests to ${name} of ${resource.kind.kind}`,
    tag,
    parameters: [],
    action: 'connect',
    kind,
    responses: {200: 'text'},
    responseFormat: 'any',
  }));

const reads = ({groupVersionName, scope, resource, tag}: ResourceLocation, {name, kind}: DescribedAddress): Operation => ({
  method: 'get',
  id: `read${groupVersionName}${scope}${resource.kind.kind}${capitalised(name)}`,
  description: `read ${name} of the specified ${resource.kind.kind}`,
  tag,
  parameters: [],
  action: 'get',
  kind,
  responses: {200: 'text'},
  responseFormat: 'text',
});

/** Returns the paths of a connect subresource. */
export const connectPaths = (place: ResourceLocation, address: DescribedAddress, {mode, options}: DescribedConnect): Path[] => {
  const {kind} = place.resource;
  const path = `${place.collection}/{name}/${address.name}`;
  const parameters = [nameParameter, ...(kind.namespaced ? [namespaceParameter] : []), ...connectParameters(options)];
  if (mode === 'text') return [{path, parameters: [...parameters, pretty], operations: [reads(place, address)]}];
  if (mode === 'stream') return [{path, parameters, operations: connects(place, address, streamMethods)}];
  return [
    {path, parameters, operations: connects(place, address, callMethods)},
    {path: `${path}/{path}`, parameters: [...parameters, pathParameter], operations: connects(place, address, callMethods, 'WithPath')},
  ];
};
