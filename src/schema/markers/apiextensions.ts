import type {GroupMarkers} from './types.js';

/** The markers of `apiextensions`, which its field tables do not contain. */
export const apiextensions: GroupMarkers = {
  v1: {
    CustomResourceColumnDefinition: {'*': 'required(name,type,jsonPath)'},
    CustomResourceDefinitionCondition: {'*': 'required(type,status)', lastTransitionTime: 'null', observedGeneration: ':int64'},
    CustomResourceDefinitionNames: {'*': 'required(plural,kind)', categories: 'atomic', shortNames: 'atomic'},
    CustomResourceDefinitionSpec: {versions: 'atomic'},
    CustomResourceDefinitionStatus: {
      acceptedNames: 'value',
      conditions: 'map(type)',
      observedGeneration: ':int64',
      storedVersions: 'atomic',
    },
    CustomResourceDefinitionVersion: {'*': 'pointers(deprecationWarning)', additionalPrinterColumns: 'atomic', selectableFields: 'atomic'},
    CustomResourceSubresourceScale: {'*': 'pointers(labelSelectorPath)'},
    CustomResourceSubresourceStatus: {},
    CustomResourceSubresources: {status: ':apiextensions/v1.CustomResourceSubresourceStatus none'},
    JSONSchemaProps: {
      '*': 'pointers($ref,maxItems,maxLength,maxProperties,maximum,minItems,minLength,minProperties,minimum,multipleOf,x-kubernetes-list-type,x-kubernetes-map-type,x-kubernetes-preserve-unknown-fields) kept(dependencies)',
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
    ServiceReference: {'*': 'required(namespace,name) pointers(path,port)'},
    ValidationRule: {'*': 'pointers(optionalOldSelf,reason)'},
    WebhookClientConfig: {'*': 'pointers(url)'},
    WebhookConversion: {conversionReviewVersions: 'atomic'},
  },
};
