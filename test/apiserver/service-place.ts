export const at = {namespace: 'ns', name: 'svc', port: 443};
