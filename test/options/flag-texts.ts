export const noImagePolicy = 'is not supported yet: check images with a ValidatingAdmissionPolicy or a ValidatingWebhookConfiguration';
