// Drives Function Compute through fc-go-sdk and prints what it saw as JSON.
//
// Arguments: endpoint, key id, key secret, service. Standard input is the zip of a function `index.handler` that echoes
// its event and fails for the event "fail".
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	fc "github.com/aliyun/fc-go-sdk"
)

const function = "echo"

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	endpoint, id, secret, service := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	code, err := io.ReadAll(os.Stdin)
	check(err)
	client, err := fc.NewClient(endpoint, "2016-08-15", id, secret)
	check(err)
	seen := map[string]any{}

	created, err := client.CreateService(fc.NewCreateServiceInput().WithServiceName(service).WithDescription("go"))
	check(err)
	seen["service"] = *created.ServiceName
	made, err := client.CreateFunction(fc.NewCreateFunctionInput(service).WithFunctionName(function).
		WithHandler("index.handler").WithRuntime("python3.10").WithTimeout(20).WithCode(fc.NewCode().WithZipFile(code)))
	check(err)
	seen["checksum"] = *made.CodeChecksum

	invoked, err := client.InvokeFunction(
		fc.NewInvokeFunctionInput(service, function).WithPayload([]byte("grüße")).WithLogType("Tail"))
	check(err)
	log, err := invoked.GetLogResult()
	check(err)
	seen["echo"] = string(invoked.Payload)
	seen["logged"] = strings.Contains(log, "FC Invoke End")
	failed, err := client.InvokeFunction(fc.NewInvokeFunctionInput(service, function).WithPayload([]byte("fail")))
	check(err)
	seen["error"] = failed.GetErrorType()

	version, err := client.PublishServiceVersion(fc.NewPublishServiceVersionInput(service))
	check(err)
	_, err = client.CreateAlias(fc.NewCreateAliasInput(service).WithAliasName("prod").WithVersionID(*version.VersionID))
	check(err)
	through, err := client.InvokeFunction(
		fc.NewInvokeFunctionInput(service, function).WithQualifier("prod").WithPayload([]byte("alias")))
	check(err)
	seen["alias"] = string(through.Payload)

	_, missing := client.GetFunction(fc.NewGetFunctionInput(service, "nothing"))
	if told, ok := missing.(*fc.ServiceError); ok {
		seen["missing"] = fmt.Sprintf("%d %s", told.HTTPStatus, told.ErrorCode)
	}

	instances, err := client.ListInstances(fc.NewListInstancesInput(service, function))
	check(err)
	said := make(chan string, 16)
	_, err = client.InstanceExec(
		fc.NewInstanceExecInput(service, function, instances.Instances[0].InstanceID, []string{"sh", "-c", "echo $FC_FUNCTION_NAME"}).
			WithStdout(true).OnStdout(func(data []byte) { said <- string(data) }))
	check(err)
	select {
	case seen["exec"] = <-said:
	case <-time.After(30 * time.Second):
	}

	_, err = client.DeleteAlias(fc.NewDeleteAliasInput(service, "prod"))
	check(err)
	_, err = client.DeleteServiceVersion(fc.NewDeleteServiceVersionInput(service, *version.VersionID))
	check(err)
	_, err = client.DeleteFunction(fc.NewDeleteFunctionInput(service, function))
	check(err)
	_, err = client.DeleteService(fc.NewDeleteServiceInput(service))
	check(err)
	text, err := json.Marshal(seen)
	check(err)
	fmt.Printf("\n%s\n", text)
}
