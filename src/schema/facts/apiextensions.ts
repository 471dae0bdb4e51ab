import type {GroupFacts} from './form.js';

/** What the field tables of `apiextensions` do not say by themselves. */
export const apiextensions: GroupFacts = {
  v1: {
    CustomResourceColumnDefinition: {'*': 'required(name,type,jsonPath)'},
    CustomResourceDefinitionCondition: {'*': 'required(type,status)', observedGeneration: ':int64'},
    CustomResourceDefinitionNames: {'*': 'required(plural,kind)', categories: 'atomic', shortNames: 'atomic'},
    CustomResourceDefinitionSpec: {versions: 'atomic'},
    CustomResourceDefinitionStatus: {acceptedNames: 'value', conditions: 'map(type)', observedGeneration: ':int64', storedVersions: 'atomic'},
    CustomResourceDefinitionVersion: {additionalPrinterColumns: 'atomic', selectableFields: 'atomic'},
    CustomResourceSubresources: {status: ':any@apiextensions/v1.CustomResourceSubresourceStatus'},
    JSONSchemaProps: {
      additionalItems: ':any@apiextensions/v1.JSONSchemaPropsOrBool bare',
      additionalProperties: ':any@apiextensions/v1.JSONSchemaPropsOrBool bare',
      allOf: 'atomic',
      anyOf: 'atomic',
      default: ':any@apiextensions/v1.JSON',
      dependencies: ':map[string]any@apiextensions/v1.JSONSchemaPropsOrStringArray',
      enum: ':[]any@apiextensions/v1.JSON atomic',
      example: ':any@apiextensions/v1.JSON bare',
      externalDocs: 'bare',
      items: ':any@apiextensions/v1.JSONSchemaPropsOrArray bare',
      not: 'bare',
      oneOf: 'atomic',
      required: 'atomic',
      'x-kubernetes-list-map-keys': 'atomic',
      'x-kubernetes-validations': 'map(rule) patch=merge(rule)',
    },
    ServiceReference: {'*': 'required(namespace,name)'},
    WebhookConversion: {conversionReviewVersions: 'atomic'},
  },
};
