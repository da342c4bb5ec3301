// Official clients for Go at the cloud's own addresses; nothing here names an emulator.
package main

import (
	"fmt"
	"os"

	openapi "github.com/alibabacloud-go/darabonba-openapi/v2/client"
	util "github.com/alibabacloud-go/tea-utils/v2/service"
	"github.com/alibabacloud-go/tea/tea"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/requests"
	"github.com/aliyun/alibaba-cloud-sdk-go/services/sts"
	ali_mns "github.com/aliyun/aliyun-mns-go-sdk"
)

var (
	region  = os.Getenv("REGION")
	account = os.Getenv("ACCOUNT_ID")
	id      = os.Getenv("AK_ID")
	secret  = os.Getenv("AK_SECRET")
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// common calls the workflow service through the classic SDK's CommonRequest.
func common(scheme string) string {
	client, err := sdk.NewClientWithAccessKey(region, id, secret)
	check(err)
	request := requests.NewCommonRequest()
	request.Method = "POST"
	request.Scheme = scheme
	request.Domain = region + ".fnf.aliyuncs.com"
	request.Version = "2019-03-15"
	request.ApiName = "ListFlows"
	response, err := client.ProcessCommonRequest(request)
	check(err)
	return response.GetHttpContentString()
}

// identity lets the classic SDK find the address of the service itself.
func identity() string {
	client, err := sts.NewClientWithAccessKey(region, id, secret)
	check(err)
	request := sts.CreateGetCallerIdentityRequest()
	request.Scheme = "https"
	response, err := client.GetCallerIdentity(request)
	check(err)
	return response.GetHttpContentString()
}

// newer calls the workflow service through what every newer client is built on.
func newer() string {
	client, err := openapi.NewClient(&openapi.Config{
		AccessKeyId: tea.String(id), AccessKeySecret: tea.String(secret), RegionId: tea.String(region),
		Endpoint: tea.String(region + ".fnf.aliyuncs.com"),
	})
	check(err)
	answer, err := client.CallApi(&openapi.Params{
		Action: tea.String("ListFlows"), Version: tea.String("2019-03-15"), Protocol: tea.String("HTTPS"),
		Pathname: tea.String("/"), Method: tea.String("POST"), AuthType: tea.String("AK"), Style: tea.String("RPC"),
		ReqBodyType: tea.String("formData"), BodyType: tea.String("json"),
	}, &openapi.OpenApiRequest{}, &util.RuntimeOptions{})
	check(err)
	return tea.Prettify(answer["body"])
}

// queue sends a message through the first generation of the queue SDK.
func queue() string {
	client := ali_mns.NewAliMNSClient("http://"+account+".mns."+region+".aliyuncs.com", id, secret)
	sent, err := ali_mns.NewMNSQueue("go-mns", client).SendMessage(ali_mns.MessageSendRequest{MessageBody: "hello", Priority: 8})
	check(err)
	return "MessageId " + sent.MessageId
}

func main() {
	calls := map[string]func() string{
		"core-http":  func() string { return common("http") },
		"core-https": func() string { return common("https") },
		"sts-https":  identity,
		"tea-https":  newer,
		"mns-http":   queue,
	}
	fmt.Println(calls[os.Args[1]]())
}
